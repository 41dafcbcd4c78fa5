package fingerprint

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"io"
	"strings"
	"testing"
)

func packed(t *testing.T, text string, open func(io.Writer) io.WriteCloser) []byte {
	t.Helper()
	var b bytes.Buffer
	w := open(&b)
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func gzipped(t *testing.T, text string) []byte {
	return packed(t, text, func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) })
}

func deflated(t *testing.T, text string) []byte {
	return packed(t, text, func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) })
}

func coded(coding string, body []byte) Request {
	return Request{Method: "POST", ContentType: "application/json", ContentEncoding: coding, Body: body}
}

func TestCodingsAreDecoded(t *testing.T) {
	t.Parallel()
	plain := compute(t, coded("", []byte(`{"a":1}`)), Options{})
	for name, req := range map[string]Request{
		"gzip":            coded("gzip", gzipped(t, `{"a": 1.0}`)),
		"GZIP":            coded(" GZIP", gzipped(t, `{"a": 1.0}`)),
		"x-gzip":          coded("x-gzip", gzipped(t, `{"a":1}`)),
		"two members":     coded("gzip", append(gzipped(t, `{"a"`), gzipped(t, `:1}`)...)),
		"deflate":         coded("deflate", deflated(t, `{"a" :1}`)),
		"identity":        coded("identity", []byte(`{"a":1}`)),
		"other gzip body": coded("gzip", gzipped(t, `{"a":1e0}`)),
	} {
		p := compute(t, req, Options{})
		if !p.Same(plain) {
			t.Errorf("%s: another request than the plain one", name)
		}
		if p.Raw == plain.Raw {
			t.Errorf("%s: raw does not cover the coding", name)
		}
	}
	if compute(t, coded("gzip", gzipped(t, `{"a":2}`)), Options{}).Same(plain) {
		t.Error("another content is the same request")
	}
	if !compute(t, coded("gzip", nil), Options{}).Same(compute(t, coded("", nil), Options{})) {
		t.Error("an empty body has nothing to decode")
	}
}

func TestOtherCodingsAreBytes(t *testing.T) {
	t.Parallel()
	one := compute(t, coded("br", []byte("xyz")), Options{Rule: RuleJSON})
	if one.Rule != RuleRaw {
		t.Errorf("rule %s", one.Rule)
	}
	if !one.Same(compute(t, coded("br", []byte("xyz")), Options{})) {
		t.Error("equal bytes differ")
	}
	if one.Same(compute(t, coded("br", []byte("xyy")), Options{})) {
		t.Error("other bytes agree")
	}
	if one.Same(compute(t, coded("zstd", []byte("xyz")), Options{})) {
		t.Error("one body under two codings agrees")
	}
	double := compute(t, coded("gzip, gzip", []byte("xyz")), Options{})
	if double.Rule != RuleRaw {
		t.Errorf("two codings: rule %s", double.Rule)
	}
}

func TestMalformedCodingIsRefused(t *testing.T) {
	t.Parallel()
	whole := gzipped(t, `{"a":1}`)
	for name, req := range map[string]Request{
		"not gzip":          coded("gzip", []byte(`{"a":1}`)),
		"not deflate":       coded("deflate", []byte(`{"a":1}`)),
		"gzip cut":          coded("gzip", whole[:len(whole)-3]),
		"gzip and more":     coded("gzip", append(bytes.Clone(whole), "more"...)),
		"deflate and more":  coded("deflate", append(deflated(t, `1`), "more"...)),
		"gzip checksum off": coded("gzip", append(bytes.Clone(whole[:len(whole)-8]), 0, 0, 0, 0, 7, 0, 0, 0)),
	} {
		var syntax *SyntaxError
		if _, err := Compute(req, Options{}); !errors.As(err, &syntax) || syntax.Reason != ReasonCoding {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestBodyLimit(t *testing.T) {
	t.Parallel()
	text := `"` + strings.Repeat("a", 98) + `"`
	bomb := `"` + strings.Repeat("a", DefaultMaxBody) + `"`
	for name, c := range map[string]struct {
		req   Request
		limit int64
		large bool
	}{
		"at the limit":          {coded("", []byte(text)), 100, false},
		"past the limit":        {coded("", []byte(text)), 99, true},
		"decoded at the limit":  {coded("gzip", gzipped(t, text)), 100, false},
		"decoded past it":       {coded("gzip", gzipped(t, text)), 99, true},
		"bomb, default limit":   {coded("gzip", gzipped(t, bomb)), 0, true},
		"deflate bomb":          {coded("deflate", deflated(t, bomb)), 0, true},
		"bomb without a limit":  {coded("gzip", gzipped(t, bomb)), -1, false},
		"other coding past it":  {coded("br", []byte(text)), 99, true},
		"plain, default limit":  {coded("", []byte(bomb)), 0, true},
		"plain without a limit": {coded("", []byte(bomb)), -1, false},
	} {
		_, err := Compute(c.req, Options{MaxBody: c.limit})
		if errors.Is(err, ErrBodyTooLarge) != c.large || (err != nil) != c.large {
			t.Errorf("%s: %v", name, err)
		}
	}
}
