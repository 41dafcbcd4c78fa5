package operation

import (
	"testing"
	"time"
)

func TestValidateTerms(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		terms Terms
		valid bool
	}{
		{"nothing", Terms{}, true},
		{"everything", Terms{Dedupes: true, DedupesFor: 24 * time.Hour, AtLeastOnce: true, Queries: true, NotFoundFinalAfter: time.Hour, KeyMin: 16, KeyMax: 64, Margin: time.Hour}, true},
		{"no end of the window", Terms{Dedupes: true}, true},
		{"a window without dedupe", Terms{DedupesFor: time.Hour}, false},
		{"a negative window", Terms{Dedupes: true, DedupesFor: -1}, false},
		{"a window as long as the default margin", Terms{Dedupes: true, DedupesFor: DefaultMargin}, false},
		{"a window just longer", Terms{Dedupes: true, DedupesFor: DefaultMargin + 1}, true},
		{"a short window without a margin", Terms{Dedupes: true, DedupesFor: 1, Margin: -1}, true},
		{"not found is final, and nobody can ask", Terms{NotFoundFinalAfter: time.Hour}, false},
		{"not found is final before the last byte left", Terms{Queries: true, NotFoundFinalAfter: DefaultMargin - 1}, false},
		{"not found is final with the margin", Terms{Queries: true, NotFoundFinalAfter: DefaultMargin}, true},
		{"not found is final soon, without a margin", Terms{Queries: true, NotFoundFinalAfter: 1, Margin: -1}, true},
		{"a negative bound of not found", Terms{Queries: true, NotFoundFinalAfter: -1}, false},
		{"negative keys", Terms{KeyMin: -1}, false},
		{"keys too long to store", Terms{KeyMax: MaxKey + 1}, false},
		{"the longest keys", Terms{KeyMin: MaxKey, KeyMax: MaxKey}, true},
		{"no key is so long", Terms{KeyMin: MaxKey + 1}, false},
		{"no key fits", Terms{KeyMin: 9, KeyMax: 8}, false},
	} {
		if err := c.terms.Validate(); (err == nil) != c.valid {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
