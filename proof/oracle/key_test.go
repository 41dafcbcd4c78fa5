package oracle

import (
	"testing"

	"github.com/dunglas/httpsfv"

	"github.com/refrain-dev/refrain/refrainhttp"
	"github.com/refrain-dev/refrain/vectors"
)

// FuzzStrictKey: in strict mode one field line is a key if and only if it is
// an RFC 9651 String item of 1 to 255 bytes, and it is the same key.
func FuzzStrictKey(f *testing.F) {
	for _, s := range vectors.StringItems() {
		if len(s.Lines) == 1 {
			f.Add(s.Lines[0])
		}
	}
	for _, s := range vectors.KeyFields() {
		if len(s.Lines) == 1 {
			f.Add(s.Lines[0])
		}
	}
	f.Fuzz(func(t *testing.T, line string) {
		ours, err := refrainhttp.ParseKey([]string{line}, true)
		item, theirErr := httpsfv.UnmarshalItem([]string{line})
		theirs, isString := item.Value.(string)
		want := theirErr == nil && isString && theirs != "" && len(theirs) <= refrainhttp.MaxKey
		if (err == nil) != want || want && ours != theirs {
			t.Fatalf("%q: ours %q %v, theirs %#v %v", line, ours, err, item.Value, theirErr)
		}
	})
}

// FuzzFormatKey: both sides write a key alike, or refuse it alike.
func FuzzFormatKey(f *testing.F) {
	for _, s := range vectors.StringTexts() {
		f.Add(s.Value)
	}
	f.Fuzz(func(t *testing.T, key string) {
		if key == "" || len(key) > refrainhttp.MaxKey {
			return
		}
		ours, err := refrainhttp.FormatKey(key)
		theirs, theirErr := httpsfv.Marshal(httpsfv.NewItem(key))
		if (err == nil) != (theirErr == nil) || err == nil && ours != theirs {
			t.Fatalf("%q: ours %q %v, theirs %q %v", key, ours, err, theirs, theirErr)
		}
	})
}
