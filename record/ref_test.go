package record

import (
	"strings"
	"testing"
	"time"
)

func TestNewRef(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	last := ""
	for i := range 1000 {
		born := now.Add(time.Duration(i) * time.Millisecond)
		a, b := NewRef(born), NewRef(born)
		if seen[a] || seen[b] || a == b {
			t.Fatalf("ref %s or %s came twice", a, b)
		}
		seen[a], seen[b] = true, true
		if !ValidRef(a) {
			t.Fatalf("ValidRef(%q) = false", a)
		}
		if a <= last || b <= last {
			t.Fatalf("ref %s or %s of a later birth sorts before %s", a, b, last)
		}
		last = max(a, b)
	}
	// 48 bits of time in 5-bit digits: the first nine agree, the tenth mixes in randomness.
	if a, b := NewRef(now), NewRef(now); a[:len("op_")+9] != b[:len("op_")+9] {
		t.Errorf("refs %s and %s of one instant differ in their time", a, b)
	}
}

func TestValidRef(t *testing.T) {
	t.Parallel()
	ref := NewRef(now)
	if len(ref) != 32 {
		t.Errorf("ref %s has %d bytes, want 32", ref, len(ref))
	}
	zero := "op_" + strings.Repeat("0", 29)
	if !ValidRef(zero) {
		t.Errorf("ValidRef(%q) = false", zero)
	}
	for name, bad := range map[string]string{
		"empty":                  "",
		"prefix alone":           "op_",
		"no prefix":              ref[3:],
		"other prefix":           "OP_" + ref[3:],
		"short":                  ref[:31],
		"long":                   ref + "0",
		"upper case":             "op_" + strings.Repeat("A", 29),
		"letter outside":         "op_" + strings.Repeat("i", 29),
		"line break for a digit": zero[:20] + "\n" + zero[21:],
		"trailing line break":    zero[:31] + "\n",
		"carriage return":        zero[:31] + "\r",
		"second spelling":        zero[:31] + "1",
		"padding":                zero[:31] + "=",
		"quote":                  zero[:31] + "'",
	} {
		if ValidRef(bad) {
			t.Errorf("%s: ValidRef(%q) = true", name, bad)
		}
	}
}
