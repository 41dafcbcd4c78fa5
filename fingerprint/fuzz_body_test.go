package fingerprint

import (
	"bytes"
	"io"
	"mime/multipart"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/refrain-dev/refrain/vectors"
)

// FuzzForm: what is accepted is read as net/url reads it, and is the same form
// when it is written anew with its names in reverse.
func FuzzForm(f *testing.F) {
	for _, p := range vectors.Forms() {
		f.Add(p.FirstText)
		f.Add(p.RetryText)
	}
	f.Fuzz(func(t *testing.T, body string) {
		pairs, err := parsePairs(RuleForm, body)
		// net/url refuses a semicolon; here it is a character like any other.
		values, errURL := url.ParseQuery(strings.ReplaceAll(body, ";", "%3B"))
		if (err == nil) != (errURL == nil) {
			t.Fatalf("%q: %v, net/url: %v", body, err, errURL)
		}
		if err != nil {
			return
		}
		ours := url.Values{}
		var names, pieces []string
		for _, p := range pairs {
			if !slices.Contains(names, p[0]) {
				names = append(names, p[0])
			}
			ours.Add(p[0], p[1])
		}
		if !slices.IsSorted(names) || len(ours) != len(values) {
			t.Fatalf("%q: names %q", body, names)
		}
		slices.Reverse(names)
		for _, name := range names {
			if !slices.Equal(ours[name], values[name]) {
				t.Fatalf("%q: %q has %q, net/url: %q", body, name, ours[name], values[name])
			}
			for _, value := range ours[name] {
				pieces = append(pieces, url.QueryEscape(name)+"="+url.QueryEscape(value))
			}
		}
		one, _ := digestForm([]byte(body))
		if two, err := digestForm([]byte(strings.Join(pieces, "&"))); err != nil || one != two {
			t.Fatalf("%q and %q differ (%v)", body, pieces, err)
		}
	})
}

// FuzzMultipart: what is accepted is the same body when it is written anew
// with another boundary.
func FuzzMultipart(f *testing.F) {
	for _, p := range vectors.Multiparts() {
		contentType, body := p.First()
		f.Add(body, parseMedia(contentType).boundary)
	}
	f.Fuzz(func(t *testing.T, body []byte, boundary string) {
		one, err := digestMultipart(body, boundary)
		if err != nil {
			return
		}
		const other = "another-boundary-that-nobody-guesses"
		if bytes.Contains(body, []byte(other)) {
			return
		}
		var b bytes.Buffer
		w := multipart.NewWriter(&b)
		if err := w.SetBoundary(other); err != nil {
			t.Fatal(err)
		}
		reader := multipart.NewReader(bytes.NewReader(body), boundary)
		for {
			part, err := reader.NextRawPart()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("accepted, but: %v", err)
			}
			out, err := w.CreatePart(part.Header)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(out, part); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if two, err := digestMultipart(b.Bytes(), other); err != nil || one != two {
			t.Fatalf("%q and %q differ (%v)", body, b.Bytes(), err)
		}
	})
}
