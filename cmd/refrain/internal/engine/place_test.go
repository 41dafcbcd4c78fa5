package engine

import (
	"errors"
	"strings"
	"testing"
)

func TestPathsInURLs(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"sqlite:a.db": "a.db", "sqlite:/x/a.db": "/x/a.db", "sqlite:///x/a.db": "/x/a.db", "sqlite://a.db": "a.db", "sqlite:a:b.db": "a:b.db",
	} {
		if at, err := Parse("--db", url); at != File(want) || err != nil {
			t.Errorf("%s is %v, %v, want %s", url, at, err, want)
		}
	}
}

// TestNamesAreKnown: an unknown scheme gets the list of those that are known.
func TestNamesAreKnown(t *testing.T) {
	t.Parallel()
	for text, says := range map[string]string{
		"shop.db":             `--db "shop.db" has no scheme`,
		"oracle://x/y":        `--db has the unknown scheme "oracle"`,
		"sqlite:":             `--db "sqlite:" names no file`,
		"sqlite::memory:":     `--db "sqlite::memory:" names no file`,
		"host=x password=y":   `--db has no scheme`,
		"root:y@tcp(x)/shop":  `--db has the unknown scheme "root"`,
		"host=x password=a:y": `--db has no scheme`,
	} {
		at, err := Parse("--db", text)
		var wrong *Error
		if at != nil || !errors.As(err, &wrong) || !wrong.Usage || err.Error() != says || !strings.Contains(wrong.Hint, "sqlite:PATH") {
			t.Errorf("%s: %v, %+v", text, at, err)
		}
	}
}
