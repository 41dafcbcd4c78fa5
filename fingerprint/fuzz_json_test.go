package fingerprint

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/refrain-dev/refrain/vectors"
)

// FuzzJSON: the canonical form is JSON, is its own canonical form, and does not
// change with whitespace, member order, escapes or the spelling of numbers. What
// is refused as invalid JSON is invalid to encoding/json, too.
func FuzzJSON(f *testing.F) {
	for _, c := range append(vectors.JCS(), vectors.CanonicalJSON()...) {
		f.Add(c.Input())
	}
	for _, c := range vectors.JSONNumbers() {
		f.Add([]byte("[" + strings.Join(c.Spellings, ",") + "]"))
	}
	for _, p := range vectors.JSONBodies() {
		f.Add([]byte(p.FirstText))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		text, reason := outcome(t, input, true)
		if reason != "" {
			if reason == string(ReasonJSON) && json.Valid(input) {
				t.Fatalf("valid JSON is refused as %s: %q", reason, input)
			}
			return
		}
		if !json.Valid(input) || !json.Valid([]byte(text)) {
			t.Fatalf("not JSON: %q became %q", input, text)
		}
		for _, spelling := range []string{text, respell(t, []byte(text)), respell(t, input)} {
			if again, reason := outcome(t, []byte(spelling), true); again != text {
				t.Fatalf("%q is %q, but %q is %q %s", input, text, spelling, again, reason)
			}
		}
	})
}

// respell writes the same value with members in reverse, whitespace
// everywhere, every character escaped and every number with one more digit.
func respell(t *testing.T, text []byte) string {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var next func() string
	next = func() string {
		token, err := d.Token()
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		switch v := token.(type) {
		case json.Delim:
			open, end := v.String(), map[json.Delim]string{'{': "}", '[': "]"}[v]
			var parts []string
			for d.More() {
				if part := next(); open == "[" {
					parts = append(parts, part)
				} else {
					parts = append([]string{part + "\t:\n" + next()}, parts...)
				}
			}
			if _, err := d.Token(); err != nil {
				t.Fatal(err)
			}
			return " " + open + " " + strings.Join(parts, " ,\r") + " " + end + " "
		case string:
			var b strings.Builder
			for _, unit := range utf16.Encode([]rune(v)) {
				fmt.Fprintf(&b, `\u%04X`, unit)
			}
			return `"` + b.String() + `"`
		case json.Number:
			return respellNumber(v.String())
		case nil:
			return "null"
		default:
			return fmt.Sprint(v)
		}
	}
	return next()
}

func respellNumber(n string) string {
	mantissa, exponent, found := strings.Cut(strings.ToLower(n), "e")
	if !strings.Contains(mantissa, ".") {
		mantissa += ".0"
	}
	mantissa += "0"
	if !found {
		return mantissa + "E+00"
	}
	return mantissa + "E" + exponent
}
