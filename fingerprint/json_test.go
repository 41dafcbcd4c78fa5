package fingerprint

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/refrain-dev/refrain/vectors"
)

// outcome is a canonical form or the reason for refusing it.
func outcome(t *testing.T, input []byte, exactNames bool) (canonical, refused string) {
	t.Helper()
	before := bytes.Clone(input)
	out, err := CanonicalJSON(input, exactNames)
	if !bytes.Equal(before, input) {
		t.Errorf("the input was altered: %q", before)
	}
	if err == nil {
		return string(out), ""
	}
	var syntax *SyntaxError
	if !errors.As(err, &syntax) || !errors.Is(err, ErrNotCanonical) || syntax.Rule != RuleJSON {
		t.Fatalf("%q: error %v", input, err)
	}
	if syntax.Offset < 0 || syntax.Offset > len(input) {
		t.Errorf("%q: offset %d", input, syntax.Offset)
	}
	return "", string(syntax.Reason)
}

func TestCanonicalJSONVectors(t *testing.T) {
	t.Parallel()
	for _, c := range append(vectors.JCS(), vectors.CanonicalJSON()...) {
		wantText, wantReason := c.Want()
		text, reason := outcome(t, c.Input(), false)
		if text != wantText || reason != wantReason {
			t.Errorf("%s: %q %q, want %q %q", c.Name, text, reason, wantText, wantReason)
		}
		if wantReason != string(ReasonFoldedName) || c.Expected == "" {
			continue
		}
		if text, reason := outcome(t, c.Input(), true); text != c.Expected {
			t.Errorf("%s, exact names: %q %q, want %q", c.Name, text, reason, c.Expected)
		}
	}
}

func TestExactNamesAdmitFoldedNames(t *testing.T) {
	t.Parallel()
	for _, c := range vectors.CanonicalJSON() {
		if c.Error == string(ReasonFoldedName) {
			if _, reason := outcome(t, c.Input(), true); reason != "" {
				t.Errorf("%s: refused as %s", c.Name, reason)
			}
		}
	}
	if _, reason := outcome(t, []byte(`{"a":1,"a":2}`), true); reason != string(ReasonDuplicateName) {
		t.Errorf("equal names under exact names: %q", reason)
	}
}

func TestCanonicalNumberOfDoubles(t *testing.T) {
	t.Parallel()
	for _, d := range vectors.JCSNumbers() {
		bits, err := strconv.ParseUint(d.Bits, 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		shortest := strconv.FormatFloat(math.Float64frombits(bits), 'g', -1, 64)
		if d.Error != "" {
			if text, reason := outcome(t, []byte(shortest), false); reason != string(ReasonJSON) {
				t.Errorf("%s: %q became %q %q", d.Name, shortest, text, reason)
			}
			continue
		}
		// Both texts are shortest spellings of one double, so one decimal.
		for _, spelling := range []string{d.Expected, shortest} {
			if text, reason := outcome(t, []byte(spelling), false); text != d.Want() {
				t.Errorf("%s: %q became %q %q, want %q", d.Name, spelling, text, reason, d.Want())
			}
		}
	}
}

func TestNumbersAreEqualByValueAlone(t *testing.T) {
	t.Parallel()
	owner := map[string]string{}
	for _, class := range vectors.JSONNumbers() {
		for _, spelling := range class.Spellings {
			text, reason := outcome(t, []byte(spelling), false)
			if text != class.Expected || reason != class.Error {
				t.Errorf("%s: %q became %q %q, want %q %q", class.Name, spelling, text, reason, class.Expected, class.Error)
			}
		}
		if class.Error != "" {
			continue
		}
		if other, taken := owner[class.Expected]; taken {
			t.Errorf("%q and %q have one text", class.Name, other)
		}
		owner[class.Expected] = class.Name
	}
}

// A great exponent must cost its digits, not its value.
func TestGreatExponentIsNeverExpanded(t *testing.T) {
	t.Parallel()
	out, err := CanonicalJSON([]byte(`[1e1000000,-1e-1000000]`), false)
	if err != nil || string(out) != `[1e1000000,-1e-1000000]` || cap(out) > 1024 {
		t.Errorf("%q, capacity %d, %v", out, cap(out), err)
	}
}

func TestErrorsNameNoPayload(t *testing.T) {
	t.Parallel()
	for _, input := range []string{
		`{"secret":1,"secret":2}`, `{"secret":1,"SECRET":2}`, `{"secret" 1}`, `"secret`, `secret`, `{"a":secret}`,
		`"secret\ud800"`, "\"secret\xff\"", `["secret"`, `123456secret`, `"secret\q"`,
	} {
		_, err := Bytes(RuleJSON, "1", []byte(input))
		if err == nil || strings.Contains(strings.ToLower(err.Error()), "secret") {
			t.Errorf("%q: %v", input, err)
		}
	}
	err := error(&SyntaxError{Rule: RuleJSON, Offset: 7, Reason: ReasonJSON})
	if got := err.Error(); got != "fingerprint: json-exact/1: invalid-json at byte 7" {
		t.Error(got)
	}
}

func TestDuplicateNameOffset(t *testing.T) {
	t.Parallel()
	for input, want := range map[string]int{
		`{"a":1,"b":2,"a":3}`:    13,
		`{"b":1,"a":2,"B":3}`:    13,
		`[{"x":{"k":0, "k":0}}]`: 14,
	} {
		var syntax *SyntaxError
		if _, err := CanonicalJSON([]byte(input), false); !errors.As(err, &syntax) || syntax.Offset != want {
			t.Errorf("%s: %v, want byte %d", input, err, want)
		}
	}
}

// Objects out of order at every depth are the worst case of putting names in
// order; the result must still be right when parents move their children.
func TestDisorderAtEveryDepth(t *testing.T) {
	t.Parallel()
	const depth = MaxDepth
	nest := func(before, after string) string {
		return strings.Repeat(before, depth-1) + "{}" + strings.Repeat(after, depth-1)
	}
	text, reason := outcome(t, []byte(nest(`{"b":0,"a":`, `}`)), false)
	if want := nest(`{"a":`, `,"b":0}`); text != want {
		t.Errorf("%q %q", text, reason)
	}
}

func TestManyNames(t *testing.T) {
	t.Parallel()
	var in, want strings.Builder
	const n = 5000
	for i := range n {
		fmt.Fprintf(&in, `,"%05d":%d`, n-1-i, n-1-i+1_000_001)
		fmt.Fprintf(&want, `,"%05d":%d`, i, i+1_000_001)
	}
	text, reason := outcome(t, []byte("{"+in.String()[1:]+"}"), false)
	if reason != "" || strings.Count(text, ":") != n || !strings.HasPrefix(text, `{"00000":1000001,"00001":1000002,`) {
		t.Errorf("%.60q %q", text, reason)
	}
	if again, _ := outcome(t, []byte("{"+want.String()[1:]+"}"), false); again != text {
		t.Error("the order of 5000 names matters")
	}
}
