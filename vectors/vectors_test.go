package vectors

import (
	"slices"
	"testing"
)

// The published entries, by category. An entry that is lost, or that nobody
// decided about, is noticed here.
func TestEveryEntryIsAccountedFor(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		file    string
		entries []Entry
		want    int
		differs int
	}{
		{"jcs", entries(JCS(), func(c JSONCase) Entry { return c.Entry }), 54, 14},
		{"jcs_numbers", entries(JCSNumbers(), func(c Double) Entry { return c.Entry }), 20, 14},
		{"jcs_number_stream", entries(JCSNumberStream(), func(c NumberStream) Entry { return c.Entry }), 1, 1},
		{"sf_string", entries(StringItems(), func(c StringItem) Entry { return c.Entry }), 227, 5},
		{"sf_string_serialize", entries(StringTexts(), func(c StringText) Entry { return c.Entry }), 27, 1},
	} {
		differs := 0
		for _, e := range c.entries {
			checkEntry(t, c.file, e)
			if e.Ours == Differs {
				differs++
			}
		}
		if len(c.entries) != c.want || differs != c.differs {
			t.Errorf("%s: %d entries, %d differ; want %d and %d", c.file, len(c.entries), differs, c.want, c.differs)
		}
	}
}

func TestOwnEntries(t *testing.T) {
	t.Parallel()
	pair := func(p BodyPair) Entry { return p.Entry }
	for file, list := range map[string][]Entry{
		"json_canonical": entries(CanonicalJSON(), func(c JSONCase) Entry { return c.Entry }),
		"json_numbers":   entries(JSONNumbers(), func(c NumberClass) Entry { return c.Entry }),
		"json_bodies":    entries(JSONBodies(), pair),
		"form":           entries(Forms(), pair),
		"multipart":      entries(Multiparts(), pair),
		"key_header":     entries(KeyFields(), func(c KeyField) Entry { return c.Entry }),
	} {
		if len(list) < 20 {
			t.Errorf("%s: only %d entries", file, len(list))
		}
		names := map[string]bool{}
		for _, e := range list {
			checkEntry(t, file, e)
			if names[e.Name] {
				t.Errorf("%s: two entries named %q", file, e.Name)
			}
			names[e.Name] = true
		}
	}
}

func TestWebhooksHaveNoVerdictYet(t *testing.T) {
	t.Parallel()
	list := Webhooks()
	schemes := map[string]int{}
	for _, w := range list {
		schemes[w.Scheme]++
		if w.Name == "" || w.Source == "" || w.Headers == nil {
			t.Errorf("%s %q is incomplete", w.Scheme, w.Name)
		}
		if w.Ours != "" {
			t.Errorf("%q has the verdict %q, and no verifier was held against it", w.Name, w.Ours)
		}
	}
	if len(list) != 20 || schemes["standard-webhooks"] != 12 || schemes["stripe"] != 5 || schemes["github"] != 2 || schemes["shopify"] != 1 {
		t.Errorf("%d entries: %v", len(list), schemes)
	}
}

// Two classes with one value would make the number tests contradict themselves.
func TestNumberClassesAreDisjoint(t *testing.T) {
	t.Parallel()
	var seen []string
	for _, c := range JSONNumbers() {
		for _, s := range append(slices.Clone(c.Spellings), c.Expected) {
			if s != c.Expected && slices.Contains(seen, s) {
				t.Errorf("%q is in two classes", s)
			}
		}
		seen = append(append(seen, c.Spellings...), c.Expected)
	}
}

func entries[T any](list []T, entry func(T) Entry) []Entry {
	out := make([]Entry, len(list))
	for i, c := range list {
		out[i] = entry(c)
	}
	return out
}

func checkEntry(t *testing.T, file string, e Entry) {
	t.Helper()
	if e.Name == "" || e.Source == "" {
		t.Errorf("%s: entry %q has no name or no source", file, e.Name)
	}
	if e.Ours != Same && e.Ours != Differs {
		t.Errorf("%s: %q: ours is %q", file, e.Name, e.Ours)
	}
	if (e.Ours == Differs) != (e.Reason != "") {
		t.Errorf("%s: %q: ours %q with reason %q", file, e.Name, e.Ours, e.Reason)
	}
}
