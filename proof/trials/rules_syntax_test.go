package trials

import (
	"strings"
	"testing"
)

const key = "Idempotency-Key: "

// TestRulesOfSyntax: how one key field relates to another, as a client sees
// it: the same key, two keys, or no key at all.
func TestRulesOfSyntax(t *testing.T) {
	t.Parallel()
	const uuid = "8e03978e-40d5-43e8-bc93-6894a57f9324"
	long := func(n int, end string) string { return strings.Repeat("k", n) + end }
	type relation int
	const (
		same relation = iota
		apart
		refused // the second
		both    // refused
	)
	for _, tt := range []struct {
		subject       string
		first, second []string // header lines
		want          relation
	}{
		{"a quoted UUID is a key", []string{key + `"` + uuid + `"`}, []string{key + `"` + uuid + `"`}, same},
		{"an escaped quote is legal", []string{key + `"a\"b"`}, []string{key + `"a\"b"`}, same},
		{"an escaped backslash is legal", []string{key + `"a\\b"`}, []string{key + `"a\\b"`}, same},
		{"escapes are decoded, not dropped", []string{key + `"a\\b"`}, []string{key + `"ab"`}, apart},
		{"the field name has no letter case", []string{`IDEMPOTENCY-KEY: "k"`}, []string{`idempotency-key: "k"`}, same},
		{"spaces around the value do not count", []string{key + `"k"`}, []string{key + `   "k"   `}, same},
		{"spaces inside count", []string{key + `"k"`}, []string{key + `"k "`}, apart},
		{"parameters are ignored", []string{key + `"k"`}, []string{key + `"k";x=1;y`}, same},
		{"bare and quoted are one key", []string{key + uuid}, []string{key + `"` + uuid + `"`}, same},
		{"unterminated", []string{key + `"abc"`}, []string{key + `"abc`}, refused},
		{"an unknown escape", []string{key + `"ax"`}, []string{key + `"a\x"`}, refused},
		{"beyond ASCII", []string{key + `"f"`}, []string{key + `"füü"`}, refused},
		{"a tab inside", []string{key + `"a"`}, []string{key + "\"a\tb\""}, refused},
		{"text after the string", []string{key + `"a"`}, []string{key + `"a"b`}, refused},
		{"two lines", []string{key + `"a"`}, []string{key + `"a"`, key + `"b"`}, refused},
		{"one line twice", []string{key + `"a"`}, []string{key + `"a"`, key + `"a"`}, refused},
		{"two items in a line", []string{key + `"a"`}, []string{key + `"a", "b"`}, refused},
		{"an inner list", []string{key + `"a"`}, []string{key + `("a")`}, refused},
		{"empty", []string{key + `""`}, []string{key + `""`}, both},
		{"no value", []string{key}, []string{key + "  "}, both},
		{"alike for 36 bytes", []string{key + long(36, "a")}, []string{key + long(36, "b")}, apart},
		{"alike for 64 bytes", []string{key + long(64, "a")}, []string{key + long(64, "b")}, apart},
		{"alike for 128 bytes", []string{key + long(128, "a")}, []string{key + long(128, "b")}, apart},
		{"alike for 254 bytes", []string{key + long(254, "a")}, []string{key + long(254, "b")}, apart},
		{"alike for 255 bytes", []string{key + long(255, "a")}, []string{key + long(255, "b")}, both},
		{"255 bytes", []string{key + `"` + long(255, "") + `"`}, []string{key + `"` + long(255, "") + `"`}, same},
		{"8 KiB", []string{key + long(8192, "")}, []string{key + `"` + long(8192, "") + `"`}, both},
		{"letter case", []string{key + `"ABC"`}, []string{key + `"abc"`}, apart},
		{"percent escapes", []string{key + `"%61"`}, []string{key + `"a"`}, apart},
		{"SQL", []string{key + `"1' OR '1'='1"`}, []string{key + `"1"`}, apart},
		{"a path", []string{key + `"../../x"`}, []string{key + `"x"`}, apart},
		{"a lookup", []string{key + `"${jndi:x}"`}, []string{key + `"*"`}, apart},
	} {
		t.Run(tt.subject, func(t *testing.T) {
			t.Parallel()
			for _, optional := range []bool{false, true} { // malformed is refused even where none is needed
				c := orders
				c.KeyOptional = optional
				s := open(t, newFile, guard, c, create)
				ask := func(lines []string) answer {
					w := s.dial()
					w.post("1.1", lines...)
					return w.read()
				}
				first, second := ask(tt.first), ask(tt.second)
				effects := map[relation]int{same: 1, apart: 2, refused: 1, both: 0}[tt.want]
				if tt.want == both {
					wantProblem(t, first, 400, "key-invalid")
				} else {
					wantFresh(t, first, 201)
				}
				switch tt.want {
				case same:
					wantReplay(t, second, first)
				case apart:
					wantFresh(t, second, 201)
				default:
					wantProblem(t, second, 400, "key-invalid")
				}
				s.wantEffects(effects)
			}
		})
	}
}
