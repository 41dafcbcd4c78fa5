package fingerprint

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"io"
	"math"
	"strings"
)

// decode undoes a gzip or deflate content coding (RFC 9110 §8.4.1) up to limit
// bytes. opaque is the coding that stays: "" when the bytes returned are the
// content itself, else a coding this package compares as bytes.
func decode(body []byte, coding string, limit int64) (content []byte, opaque string, err error) {
	coding = strings.ToLower(strings.Trim(coding, " \t"))
	var open func(io.Reader) (io.ReadCloser, error)
	switch coding {
	case "", "identity":
		return body, "", nil
	case "gzip", "x-gzip":
		open = func(r io.Reader) (io.ReadCloser, error) { return gzip.NewReader(r) }
	case "deflate":
		open = zlib.NewReader
	default:
		return body, coding, nil
	}
	if len(body) == 0 {
		return body, "", nil
	}
	source := bytes.NewReader(body)
	invalid := func() error {
		return &SyntaxError{Rule: "content-encoding", Offset: len(body) - source.Len(), Reason: ReasonCoding}
	}
	reader, err := open(source)
	if err != nil {
		return nil, "", invalid()
	}
	if limit < math.MaxInt64 {
		content, err = io.ReadAll(io.LimitReader(reader, limit+1))
	} else {
		content, err = io.ReadAll(reader)
	}
	switch {
	case int64(len(content)) > limit:
		return nil, "", ErrBodyTooLarge
	case err != nil || source.Len() > 0:
		return nil, "", invalid()
	}
	return content, "", nil
}
