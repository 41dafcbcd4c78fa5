package refrainhttp

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// decoded sends a stored body without its content coding where this client does
// not accept it. It reports false, having written nothing, where the body can
// go out as it is. The decoded form streams: a small body may decode to a large one.
func decoded(w http.ResponseWriter, r *http.Request, status int, body []byte) bool {
	h := w.Header()
	coding := strings.ToLower(strings.TrimSpace(h.Get("Content-Encoding")))
	if coding == "" || accepts(r.Header["Accept-Encoding"], coding) {
		return false
	}
	var plain io.ReadCloser
	var err error
	switch coding {
	case "gzip", "x-gzip":
		plain, err = gzip.NewReader(bytes.NewReader(body))
	case "deflate":
		plain, err = zlib.NewReader(bytes.NewReader(body))
	default:
		return false
	}
	if err != nil {
		return false // not what it says: as it was first sent
	}
	delete(h, "Content-Encoding")
	delete(h, "Content-Digest") // of the coded bytes (RFC 9530 §2)
	if tag := h.Get("Etag"); tag != "" && !strings.HasPrefix(tag, "W/") {
		h.Set("Etag", "W/"+tag) // other bytes, same meaning (RFC 9110 §8.8.1)
	}
	if _, chosen := h["Content-Type"]; !chosen {
		h["Content-Type"] = nil
	}
	w.WriteHeader(status)
	if _, err := io.Copy(w, plain); err != nil {
		panic(http.ErrAbortHandler) // the client must not take a part for the whole
	}
	return true
}

// accepts reads Accept-Encoding (RFC 9110 §12.5.3). Without the field every
// coding is acceptable; in it, a coding that is not named is not.
func accepts(lines []string, coding string) bool {
	if len(lines) == 0 {
		return true
	}
	any := false
	for _, line := range lines {
		for part := range strings.SplitSeq(line, ",") {
			name, params, _ := strings.Cut(part, ";")
			name = strings.ToLower(strings.TrimSpace(name))
			switch {
			case strings.TrimPrefix(name, "x-") == strings.TrimPrefix(coding, "x-"):
				return weight(params) > 0
			case name == "*":
				any = weight(params) > 0
			}
		}
	}
	return any
}

func weight(params string) float64 {
	name, value, found := strings.Cut(params, "=")
	if !found || !strings.EqualFold(strings.TrimSpace(name), "q") {
		return 1
	}
	q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	if err != nil {
		return 0
	}
	return q
}
