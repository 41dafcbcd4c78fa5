package refrainhttp

import (
	"errors"
	"net/http"
	"strings"

	"github.com/refrain-dev/refrain/fingerprint"
	"github.com/refrain-dev/refrain/record"
)

// fingerprint is the second half of row 13: what this request means.
func (x *exchange) fingerprint() *record.Error {
	c := x.contract
	if c.Rule == "" && len(x.r.Header["Content-Type"]) > 1 {
		c.Rule = fingerprint.RuleRaw // the handler reads one of them, a rule would be chosen by another
	}
	print, err := c.Fingerprint(x.meant(), c.BodyLimit())
	switch {
	case err == nil:
		x.print = print
		return nil
	case errors.Is(err, fingerprint.ErrBodyTooLarge):
		return tooLarge(err)
	}
	return &record.Error{Problem: record.BodyNotCanonical, Row: "13", Err: err}
}

// recompute is the deciding digest under the rule and schema of an older record.
func (x *exchange) recompute(rule, schema string) (digest [32]byte, ok bool) {
	return x.contract.Recompute(x.meant(), rule, schema, x.contract.BodyLimit())
}

// meant is the request as a fingerprint sees it. The host is not part of it.
func (x *exchange) meant() fingerprint.Request {
	r := x.r
	target := r.RequestURI
	if !strings.HasPrefix(target, "/") {
		target = r.URL.RequestURI() // absolute form, or a request made by hand
	}
	req := fingerprint.Request{
		Method:          r.Method,
		Target:          target,
		ContentType:     joined(r.Header["Content-Type"]),
		ContentEncoding: joined(r.Header["Content-Encoding"]),
		Query:           r.URL.RawQuery,
		Body:            x.body.bytes,
	}
	req.Route, req.PathValues = matched(r, target)
	for _, name := range x.contract.Fields {
		if strings.EqualFold(name, "Host") { // net/http keeps it apart
			req.Fields = append(req.Fields, [2]string{name, r.Host})
			continue
		}
		for _, value := range r.Header.Values(name) {
			req.Fields = append(req.Fields, [2]string{name, value})
		}
	}
	return req
}

// joined is a field of several lines as one (RFC 9110 §5.3).
func joined(lines []string) string {
	if len(lines) == 1 {
		return lines[0]
	}
	return strings.Join(lines, ", ")
}

// matched is the pattern without its method, and its decoded path values. Where
// the pattern with its values is not the whole path (a subtree, a stripped
// prefix, a pattern in another router's syntax) the path as sent joins them: two
// paths are never one request.
func matched(r *http.Request, target string) (route string, values [][2]string) {
	if r.Pattern == "" {
		return "", nil
	}
	route = r.Pattern
	if at := strings.IndexAny(route, " \t"); at >= 0 {
		route = strings.TrimLeft(route[at:], " \t")
	}
	left, whole := r.URL.Path, true
	take := func(part string) {
		rest, found := strings.CutPrefix(left, part)
		left, whole = rest, whole && found
	}
	rest := route[max(strings.IndexByte(route, '/'), 0):] // without the host
	for {
		literal, after, found := strings.Cut(rest, "{")
		take(literal)
		if !found {
			break
		}
		name, after, _ := strings.Cut(after, "}")
		rest = after
		if name = strings.TrimSuffix(name, "..."); name != "$" {
			value := r.PathValue(name)
			values = append(values, [2]string{name, value})
			take(value)
		}
	}
	sent, _, _ := strings.Cut(target, "?")
	if !whole || left != "" || sent != r.URL.EscapedPath() {
		values = append(values, [2]string{"", sent})
	}
	return route, values
}
