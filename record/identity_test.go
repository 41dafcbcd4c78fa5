package record

import (
	"encoding/hex"
	"testing"
	"time"
)

func TestIdentityHash(t *testing.T) {
	t.Parallel()
	// Every split of one text into three components is another identity.
	const text = "aabbaa"
	seen := map[[16]byte]Identity{}
	for i := 0; i <= len(text); i++ {
		for j := i; j <= len(text); j++ {
			id := Identity{Scope: text[:i], Operation: text[i:j], Key: text[j:]}
			if other, taken := seen[id.Hash()]; taken {
				t.Errorf("%+v and %+v have one hash", id, other)
			}
			seen[id.Hash()] = id
		}
	}
	// Keys are compared byte for byte: no case folding, no normalisation, no cut.
	long := make([]byte, 255)
	for _, key := range []string{"AbC", "aBc", "é", "e\u0301", "k", "k ", string(long), string(long[1:])} {
		id := Identity{Scope: "tenant=a", Operation: "o", Key: key}
		if other, taken := seen[id.Hash()]; taken {
			t.Errorf("%+v and %+v have one hash", id, other)
		}
		seen[id.Hash()] = id
	}
}

// TestIdentityHashIsStable: stores on disk hold these values.
func TestIdentityHashIsStable(t *testing.T) {
	t.Parallel()
	golden := []struct {
		id   Identity
		hash string
	}{
		{Identity{}, "709e80c88487a2411e1ee4dfb9f22a86"},
		{Identity{"tenant=north", "orders.create", "intent-1"}, "d46d029a0ce02c2ca0b9f633b32b73ee"},
		{Identity{"tenant=north", "orders.create", "01932c07-209c-7a1e-8000-000000000001"}, "01932c07209c55f5a1a9bc01693a024c"},
	}
	for _, tt := range golden {
		h := tt.id.Hash()
		if got := hex.EncodeToString(h[:]); got != tt.hash {
			t.Errorf("Hash(%+v) = %s, want %s", tt.id, got, tt.hash)
		}
	}
}

func TestIdentityHashOrdersTimedKeys(t *testing.T) {
	t.Parallel()
	var last [16]byte
	for i := range 200 {
		id := Identity{Scope: "tenant=north", Operation: "o", Key: uuidv7(now.Add(time.Duration(i) * 7 * time.Minute))}
		h := id.Hash()
		if hex.EncodeToString(h[:]) <= hex.EncodeToString(last[:]) {
			t.Fatalf("hash %x of a later key does not follow %x", h, last)
		}
		last = h
	}
	// The prefix is the birth, the rest still tells scopes and operations apart.
	key := uuidv7(now)
	a := Identity{Scope: "tenant=a", Operation: "o", Key: key}.Hash()
	b := Identity{Scope: "tenant=b", Operation: "o", Key: key}.Hash()
	if [6]byte(a[:6]) != [6]byte(b[:6]) || [10]byte(a[6:]) == [10]byte(b[6:]) {
		t.Errorf("hashes %x and %x of one timed key in two scopes", a, b)
	}
	ms := now.UnixMilli()
	for i := 5; i >= 0; i-- {
		if a[i] != byte(ms) {
			t.Fatalf("prefix %x is not the birth %d", a[:6], now.UnixMilli())
		}
		ms >>= 8
	}
}
