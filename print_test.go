package refrain

import (
	"bytes"
	"strings"
	"testing"

	"github.com/refrain-dev/refrain/fingerprint"
)

// TestCallPrint: a library call is compared by the same contract as a request.
func TestCallPrint(t *testing.T) {
	plain := Contract{Operation: "orders.create", Schema: "1", ReplayFor: 1e9, RememberFor: 1e9}
	with := func(change func(*Contract)) Contract {
		c := plain
		change(&c)
		return c
	}
	folded := []byte(`{"a":1,"A":2}`)
	first := func(r fingerprint.Request) ([]byte, error) { return r.Body[:1], nil }
	for _, tt := range []struct {
		name     string
		contract Contract
		a, b     any
		same     bool
	}{
		{"bytes as they are", plain, []byte(`{"a":1}`), []byte(`{ "a":1}`), false},
		{"bytes under a rule", with(func(c *Contract) { c.Rule = fingerprint.RuleJSON }), []byte(`{"a":1}`), []byte(`{ "a":1.0}`), true},
		{"values as JSON", plain, map[string]int{"a": 1}, struct {
			A int `json:"a"`
		}{1}, true},
		{"exact names", with(func(c *Contract) { c.Rule, c.ExactNames = fingerprint.RuleJSON, true }), folded, folded, true},
		{"meaning", with(func(c *Contract) { c.Meaning, c.MeaningRule = first, "first/1" }), []byte("tea"), []byte("toast"), true},
		{"another meaning", with(func(c *Contract) { c.Meaning, c.MeaningRule = first, "first/1" }), []byte("tea"), []byte("coffee"), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, errA := (&Call{Contract: tt.contract, Input: tt.a}).print()
			b, errB := (&Call{Contract: tt.contract, Input: tt.b}).print()
			if errA != nil || errB != nil {
				t.Fatal(errA, errB)
			}
			if a.Same(b) != tt.same {
				t.Errorf("same = %t, want %t", a.Same(b), tt.same)
			}
		})
	}
	if _, err := (&Call{Contract: with(func(c *Contract) { c.Rule = fingerprint.RuleJSON }), Input: folded}).print(); err == nil || strings.Contains(err.Error(), "a") && bytes.Contains([]byte(err.Error()), folded) {
		t.Errorf("names that differ by case only: %v", err)
	}
}

// TestCallRecompute: after a deploy that changes the rule the old one still decides.
func TestCallRecompute(t *testing.T) {
	old := Contract{Operation: "orders.create", Schema: "1", ReplayFor: 1e9, RememberFor: 1e9, Rule: fingerprint.RuleJSON}
	stored, err := (&Call{Contract: old, Input: []byte(`{"a":1}`)}).print()
	if err != nil {
		t.Fatal(err)
	}
	now := old
	now.Rule, now.Schema = fingerprint.RuleRaw, "2"
	call := Call{Contract: now, Scope: Tenant("north"), Key: "k", Input: []byte(`{ "a": 1 }`)}
	claim, err := call.Claim()
	if err != nil {
		t.Fatal(err)
	}
	digest, ok := claim.Request.Recompute(stored.Rule, stored.Schema)
	if !ok || digest != stored.Deciding {
		t.Errorf("under the old rule: known %t, the same %t", ok, digest == stored.Deciding)
	}
	if _, ok := claim.Request.Recompute("unheard/9", "1"); ok {
		t.Error("an unknown rule was recomputed")
	}
}
