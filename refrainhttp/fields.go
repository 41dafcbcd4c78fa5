package refrainhttp

import (
	"net/http"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
)

// Where a field of the handler's answer goes. Fields not named here are kept.
type fate int

const (
	keep  fate = iota
	first      // in the first answer only: it belongs to that exchange
	never      // framing and our own fields: the server or the guard makes them
)

var fates = map[string]fate{
	// framing, made anew for each answer
	"Content-Length": never, "Transfer-Encoding": never, "Te": never, "Trailer": never,
	// hop-by-hop (RFC 9110 §7.6.1)
	"Connection": first, "Keep-Alive": first, "Upgrade": first,
	// one exchange, one cache, one credential
	"Date": first, "Age": first, "Set-Cookie": first, "Set-Cookie2": first,
	"Www-Authenticate": first, "Authentication-Info": first, "Authorization": first,
	// tracing
	"Traceparent": first, "Tracestate": first, "Baggage": first, "B3": first, "Server-Timing": first,
	"X-Request-Id": first, "Request-Id": first, "X-Correlation-Id": first, "X-Trace-Id": first,
	"X-Amzn-Trace-Id": first, "X-Cloud-Trace-Context": first,
	// rate limits
	"Retry-After": first, "Ratelimit": first,
	// ours
	"Idempotency-Status": never, refHeader: never, expiresHeader: never, rememberedHeader: never,
	observedHeader: never, DefaultReplayedHeader: never,
}

// firstPrefixes are families of fields that belong to one exchange.
var firstPrefixes = [...]string{"Access-Control-", "Proxy-", "Ratelimit-", "X-Ratelimit-", "X-Rate-Limit-", "X-B3-"}

func fateOf(name string) fate {
	name = textproto.CanonicalMIMEHeaderKey(name)
	if f, ok := fates[name]; ok {
		return f
	}
	if strings.HasPrefix(name, "Trailer:") { // http.TrailerPrefix
		return never
	}
	for _, prefix := range firstPrefixes {
		if strings.HasPrefix(name, prefix) {
			return first
		}
	}
	return keep
}

// sortFields lists the fields a record keeps and those only the first answer
// shows, by name; the values of one name keep their order.
// What a handler puts into marker, the guard's own replay field, is dropped.
func sortFields(h http.Header, marker string) (kept, once [][2]string) {
	named := connectionNames(h["Connection"])
	kept = make([][2]string, 0, len(h)+1)
	for name, values := range h {
		where := fateOf(name)
		switch canonical := textproto.CanonicalMIMEHeaderKey(name); {
		case canonical == marker:
			where = never
		case where == keep && slices.Contains(named, canonical):
			where = first
		}
		for _, value := range values {
			switch where {
			case keep:
				kept = append(kept, [2]string{name, value})
			case first:
				once = append(once, [2]string{name, value})
			}
		}
	}
	byName := func(a, b [2]string) int { return strings.Compare(a[0], b[0]) }
	slices.SortStableFunc(kept, byName)
	slices.SortStableFunc(once, byName)
	return kept, once
}

// connectionNames are the fields a Connection field makes hop-by-hop.
func connectionNames(lines []string) []string {
	var names []string
	for _, line := range lines {
		for name := range strings.SplitSeq(line, ",") {
			names = append(names, textproto.CanonicalMIMEHeaderKey(strings.TrimSpace(name)))
		}
	}
	return names
}

// lists are fields a layer around the guard may have begun; the handler's
// values join them. Every other field replaces what stands there.
var lists = [...]string{"Vary", "Set-Cookie", "Link"}

// addFields puts fields into h; the values of one name stand together.
func addFields(h http.Header, fields [][2]string) {
	values := make([]string, len(fields)) // one array behind all values
	for len(fields) > 0 {
		name, same := fields[0][0], 0
		for same < len(fields) && fields[same][0] == name {
			values[same] = fields[same][1]
			same++
		}
		if slices.Contains(lists[:], name) {
			h[name] = append(h[name], values[:same]...)
		} else {
			h[name] = values[:same:same]
		}
		fields, values = fields[same:], values[same:]
	}
}

// begin writes the header of an answer with a body of size bytes. A media type
// the answer does not name is not guessed.
func begin(w http.ResponseWriter, status int, size int64, fields [][2]string) {
	h := w.Header()
	if bodyAllowed(status) {
		fields = append(fields, [2]string{"Content-Length", strconv.FormatInt(size, 10)})
	}
	addFields(h, fields)
	if _, chosen := h["Content-Type"]; !chosen && bodyAllowed(status) {
		h["Content-Type"] = nil
	}
	w.WriteHeader(status)
}
