package oracle

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/gowebpki/jcs"

	"github.com/refrain-dev/refrain/fingerprint"
	"github.com/refrain-dev/refrain/vectors"
)

// FuzzCanonicalJSON: both sides accept the same texts, give each text the same
// RFC 8785 form when its numbers are doubles, and so put two texts into one
// class if and only if the oracle does.
func FuzzCanonicalJSON(f *testing.F) {
	for _, c := range append(vectors.JCS(), vectors.CanonicalJSON()...) {
		f.Add(c.Input(), []byte(c.Expected))
	}
	for _, p := range vectors.JSONBodies() {
		f.Add([]byte(p.FirstText), []byte(p.RetryText))
	}
	f.Fuzz(func(t *testing.T, one, two []byte) {
		ours1, theirs1, ok1 := compare(t, one)
		ours2, theirs2, ok2 := compare(t, two)
		if ok1 && ok2 && bytes.Equal(ours1, ours2) != bytes.Equal(theirs1, theirs2) {
			t.Fatalf("%q and %q: ours %q and %q, theirs %q and %q", one, two, ours1, ours2, theirs1, theirs2)
		}
	})
}

// compare returns both canonical forms; ok is false when the text is refused
// or holds a number that RFC 8785 would round, where the two must part.
func compare(t *testing.T, text []byte) (ours, theirs []byte, ok bool) {
	t.Helper()
	ours, err := fingerprint.CanonicalJSON(text, true)
	value := jsontext.Value(bytes.Clone(text))
	theirErr := value.Canonicalize()
	var refused *fingerprint.SyntaxError
	if errors.As(err, &refused) && (refused.Reason == fingerprint.ReasonDepth || refused.Reason == fingerprint.ReasonExponent) {
		return nil, nil, false // our own limits
	}
	if (err == nil) != (theirErr == nil) {
		t.Fatalf("%q: ours %v, theirs %v", text, err, theirErr)
	}
	if err != nil || !allDoubles(t, ours) {
		return nil, nil, false
	}
	// Our form is JSON with the same value: the oracle must make the same of it.
	again := jsontext.Value(bytes.Clone(ours))
	if err := again.Canonicalize(); err != nil || !bytes.Equal(again, value) {
		t.Fatalf("%q is %q, which the oracle makes %q (%v) and not %q", text, ours, again, err, value)
	}
	return ours, value, true
}

// allDoubles reports whether RFC 8785 rounds no number of the text.
func allDoubles(t *testing.T, text []byte) bool {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	for {
		token, err := d.Token()
		if err != nil {
			return true
		}
		n, isNumber := token.(json.Number)
		if isNumber && !isDouble(n.String()) {
			return false
		}
	}
}

// isDouble reports whether the decimal has the value of the shortest spelling
// of its double, which is the one RFC 8785 writes.
func isDouble(n string) bool {
	d, err := strconv.ParseFloat(n, 64)
	if err != nil || math.IsInf(d, 0) || d == 0 && strings.Trim(n, "-0") != "" {
		return false
	}
	short, ok := new(big.Rat).SetString(strconv.FormatFloat(d, 'g', -1, 64))
	if !ok {
		return false
	}
	exact, ok := new(big.Rat).SetString(n)
	return ok && short.Cmp(exact) == 0
}

// The names, strings and structure of gowebpki agree as well. It is no oracle
// for refusals: it accepts more than RFC 8259 does.
func TestAgreesWithGowebpki(t *testing.T) {
	t.Parallel()
	compared := 0
	for _, c := range append(vectors.JCS(), vectors.CanonicalJSON()...) {
		ours, err := fingerprint.CanonicalJSON(c.Input(), true)
		if err != nil || !allDoubles(t, ours) {
			continue
		}
		fromInput, err := jcs.Transform(c.Input())
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		if fromOurs, err := jcs.Transform(ours); err != nil || !bytes.Equal(fromOurs, fromInput) {
			t.Errorf("%s: %q, from ours %q (%v)", c.Name, fromInput, fromOurs, err)
		}
		compared++
	}
	if compared < 40 {
		t.Errorf("only %d texts compared", compared)
	}
}

// Why the fingerprint is not RFC 8785: both libraries make two numbers one.
func TestRFC8785MergesWhatWeKeepApart(t *testing.T) {
	t.Parallel()
	one, two := []byte(`{"id":9007199254740993}`), []byte(`{"id":9007199254740992}`)
	a, err1 := jcs.Transform(one)
	b, err2 := jcs.Transform(two)
	if err1 != nil || err2 != nil || !bytes.Equal(a, b) {
		t.Errorf("gowebpki: %q %q", a, b)
	}
	x, y := jsontext.Value(bytes.Clone(one)), jsontext.Value(bytes.Clone(two))
	if x.Canonicalize() != nil || y.Canonicalize() != nil || !bytes.Equal(x, y) {
		t.Errorf("jsontext: %q %q", x, y)
	}
	p, err1 := fingerprint.Bytes(fingerprint.RuleJSON, "1", one)
	q, err2 := fingerprint.Bytes(fingerprint.RuleJSON, "1", two)
	if err1 != nil || err2 != nil || p.Same(q) {
		t.Error("Refrain merges them, too")
	}
}
