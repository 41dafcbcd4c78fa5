package shop

import (
	"encoding/json"
	"math/big"
	"testing"
)

func TestInteger(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text string
		n    int64
		ok   bool
	}{
		{"2", 2, true}, {"2.0", 2, true}, {"2e0", 2, true}, {"20e-1", 2, true}, {"0.2e1", 2, true}, {"0.002E+3", 2, true}, {"2.000000000000000000000000000000", 2, true},
		{"0", 0, true}, {"-0", 0, true}, {"0.0e99", 0, true}, {"0e99999999999999999999", 0, true}, {"-3", -3, true}, {"1200", 1200, true}, {"1.2e3", 1200, true},
		{"9223372036854775807", 9223372036854775807, true}, {"-9223372036854775808", -9223372036854775808, true}, {"9223372036854775808", 0, false},
		{"9007199254740993", 9007199254740993, true}, {"1e18", 1e18, true}, {"1e19", 0, false}, {"1e400", 0, false}, {"1e99999999999999999999", 0, false},
		{"1.5", 0, false}, {"2.0000000000000000000001", 0, false}, {"2e-1", 0, false}, {"1e-400", 0, false}, {"", 0, false}, {"x", 0, false}, {`"2"`, 0, false}, {"null", 0, false},
	} {
		if n, ok := integer(tt.text); n != tt.n || ok != tt.ok {
			t.Errorf("integer(%q) = %d, %t, want %d, %t", tt.text, n, ok, tt.n, tt.ok)
		}
	}
}

// FuzzInteger compares with exact rationals, as far as those can be had cheaply.
func FuzzInteger(f *testing.F) {
	for _, seed := range []string{"2", "2.0", "20e-1", "1.5", "-0", "9223372036854775807", "1e19"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var number json.Number
		if len(text) > 40 || json.Unmarshal([]byte(text), &number) != nil || text == "" || text[0] == '"' || text[0] == 'n' || string(number) != text {
			return
		}
		if f, err := number.Float64(); err != nil || f > 1e30 || f < -1e30 || f != 0 && f < 1e-30 && f > -1e-30 {
			return
		}
		exact, good := new(big.Rat).SetString(text)
		if !good {
			return
		}
		want := exact.IsInt() && exact.Num().IsInt64()
		n, ok := integer(text)
		if ok != want || ok && exact.Num().Int64() != n {
			t.Errorf("integer(%q) = %d, %t; exactly it is %s", text, n, ok, exact.RatString())
		}
	})
}
