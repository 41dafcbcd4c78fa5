package refrainhttp

import (
	"errors"
	"strings"
	"testing"

	"github.com/refrain-dev/refrain/vectors"
)

// parse checks what holds for every answer of ParseKey and returns the key, or
// ok false.
func parse(t *testing.T, lines []string, strict bool) (key string, ok bool) {
	t.Helper()
	key, err := ParseKey(lines, strict)
	if err == nil {
		if len(key) < 1 || len(key) > MaxKey {
			t.Errorf("%q: key of %d bytes", lines, len(key))
		}
		return key, true
	}
	var invalid *KeyError
	switch {
	case key != "":
		t.Errorf("%q: a key and an error", lines)
	case len(lines) == 0 && !errors.Is(err, ErrKeyMissing), len(lines) > 0 && !errors.Is(err, ErrKeyInvalid):
		t.Errorf("%q: %v", lines, err)
	case len(lines) > 0 && (!errors.As(err, &invalid) || invalid.Reason == ""):
		t.Errorf("%q: no reason in %v", lines, err)
	}
	return "", false
}

func TestKeyFieldVectors(t *testing.T) {
	t.Parallel()
	check := func(name, mode string, lines []string, strict bool, want *string) {
		key, ok := parse(t, lines, strict)
		if ok != (want != nil) || ok && key != *want {
			t.Errorf("%s, %s: %q %v", name, mode, key, ok)
		}
	}
	for _, f := range vectors.KeyFields() {
		check(f.Name, "lenient", f.Lines, false, f.Lenient)
		check(f.Name, "strict", f.Lines, true, f.Strict)
	}
}

func TestStringItemVectors(t *testing.T) {
	t.Parallel()
	for _, s := range vectors.StringItems() {
		want, wantOK := s.Want()
		if key, ok := parse(t, s.Lines, true); key != want || ok != wantOK {
			t.Errorf("%s: %q %v, want %q %v", s.Name, key, ok, want, wantOK)
		}
		if !wantOK {
			continue
		}
		if key, ok := parse(t, s.Lines, false); !ok || key != want {
			t.Errorf("%s: the lenient mode reads %q %v", s.Name, key, ok)
		}
	}
}

func TestFormatKeyVectors(t *testing.T) {
	t.Parallel()
	for _, s := range vectors.StringTexts() {
		want, wantOK := s.Want()
		field, err := FormatKey(s.Value)
		if field != want && wantOK || (err == nil) != wantOK || err != nil && !errors.Is(err, ErrKeyInvalid) {
			t.Errorf("%s: %q %v", s.Name, field, err)
		}
	}
}

func TestFormatKeyLength(t *testing.T) {
	t.Parallel()
	longest := strings.Repeat(`"`, MaxKey)
	field, err := FormatKey(longest)
	if err != nil || len(field) != 2+2*MaxKey {
		t.Fatalf("%d bytes, %v", len(field), err)
	}
	if key, err := ParseKey([]string{field}, true); err != nil || key != longest {
		t.Errorf("read back: %v", err)
	}
	if _, err := FormatKey(longest + "k"); !errors.Is(err, ErrKeyInvalid) {
		t.Errorf("256 bytes: %v", err)
	}
}

func TestQuotedAndBareAreOneKey(t *testing.T) {
	t.Parallel()
	bare, err1 := ParseKey([]string{"k-1"}, false)
	quoted, err2 := ParseKey([]string{`"k-1"`}, false)
	if err1 != nil || err2 != nil || bare != quoted {
		t.Errorf("%q %v, %q %v", bare, err1, quoted, err2)
	}
}

func TestKeyReasons(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		lines []string
		why   KeyReason
	}{
		{[]string{"a", "b"}, KeyRepeated},
		{[]string{" "}, KeyEmpty},
		{[]string{`""`}, KeyEmpty},
		{[]string{strings.Repeat("k", 256)}, KeyTooLong},
		{[]string{"a b"}, KeyCharacter},
		{[]string{"\"a\tb\""}, KeyCharacter},
		{[]string{`"a`}, KeyUnclosed},
		{[]string{`"a\`}, KeyUnclosed},
		{[]string{`"a\x"`}, KeyEscape},
		{[]string{`"a"b`}, KeyParameters},
	} {
		var invalid *KeyError
		if _, err := ParseKey(c.lines, false); !errors.As(err, &invalid) || invalid.Reason != c.why {
			t.Errorf("%q: %v, want %q", c.lines, err, c.why)
		}
	}
	var invalid *KeyError
	if _, err := ParseKey([]string{"abc"}, true); !errors.As(err, &invalid) || invalid.Reason != KeyBare {
		t.Errorf("strict: %v", err)
	}
}

func TestKeyErrorsDoNotEchoTheKey(t *testing.T) {
	t.Parallel()
	for _, line := range []string{`"secret`, `secret secret`, `"secret\x"`, `"secret"secret`, `"secret";=secret`, strings.Repeat("secret", 50)} {
		if _, err := ParseKey([]string{line}, false); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", line, err)
		}
	}
	if _, err := FormatKey("secret\n"); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("FormatKey: %v", err)
	}
}

// FuzzParseKey: what is read can be written and is read back as the same key;
// the strict mode reads a part of what the lenient one does, and the same.
func FuzzParseKey(f *testing.F) {
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
		key, ok := parse(t, []string{line}, false)
		if strictKey, strict := parse(t, []string{line}, true); strict && (!ok || strictKey != key) {
			t.Fatalf("strict reads %q, lenient %q %v", strictKey, key, ok)
		}
		if !ok {
			return
		}
		field, err := FormatKey(key)
		if err != nil {
			t.Fatalf("%q cannot be written: %v", key, err)
		}
		if again, ok := parse(t, []string{field}, true); !ok || again != key {
			t.Fatalf("%q is read back as %q %v", key, again, ok)
		}
		if spaced, ok := parse(t, []string{"  " + line + " "}, false); !ok || spaced != key {
			t.Fatalf("spaces around make it %q %v", spaced, ok)
		}
	})
}
