package refrain_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/fingerprint"
	"github.com/refrain-dev/refrain/record"
)

type order struct {
	SKU      string `json:"sku"`
	Quantity int    `json:"quantity"`
}

// call is a valid one; tests change what they are about.
func call(key string, input any) refrain.Call {
	return refrain.Call{Contract: minimal(), Scope: refrain.Tenant("north"), Key: key, Input: input, Actor: "clerk"}
}

func claimOf(t *testing.T, c refrain.Call) *record.Claim {
	t.Helper()
	claim, err := c.Claim()
	if err != nil {
		t.Fatal(err)
	}
	return claim
}

func TestClaim(t *testing.T) {
	t.Parallel()
	c := call("k", []byte("order"))
	c.Recompute = func(string, string) ([32]byte, bool) { return [32]byte{7}, true }
	claim := claimOf(t, c)
	want := refrain.Identity{Scope: "tenant=north", Operation: "orders.create", Key: "k"}
	if claim.Identity != want || claim.Hash != want.Hash() || claim.Request.Key != "k" || claim.Actor != "clerk" {
		t.Errorf("claim %+v", claim)
	}
	if digest, ok := claim.Request.Recompute("", ""); !ok || digest[0] != 7 {
		t.Error("the claim lost its Recompute")
	}
	published, err := claim.Contract()
	if err != nil || !strings.Contains(string(published), `"operation":"orders.create"`) {
		t.Errorf("the claim publishes %s, %v", published, err)
	}
}

func TestClaimKey(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, key string
		want      error
	}{
		{"a byte", "k", nil},
		{"255 bytes", strings.Repeat("k", 255), nil},
		{"254 bytes of two each", strings.Repeat("é", 127), nil},
		{"any byte", "\x00\xff \n", nil},
		{"empty", "", refrain.ErrKeyMissing},
		{"256 bytes", strings.Repeat("k", 256), refrain.ErrKeyInvalid},
		{"256 bytes of two each", strings.Repeat("é", 128), refrain.ErrKeyInvalid},
	}
	for _, tt := range tests {
		claim, err := call(tt.key, nil).Claim()
		if tt.want == nil {
			if err != nil || claim.Identity.Key != tt.key {
				t.Errorf("%s: %v", tt.name, err)
			}
			continue
		}
		var refusal *refrain.Error
		if !errors.Is(err, tt.want) || !errors.As(err, &refusal) || refusal.Row != "11" || refusal.Retryable() {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
			continue
		}
		if tt.key != "" && strings.Contains(err.Error(), tt.key) {
			t.Errorf("%s: the error shows the key", tt.name)
		}
	}
}

func TestClaimInput(t *testing.T) {
	t.Parallel()
	schema2 := minimal()
	schema2.Schema = "2"
	asJSON := minimal()
	asJSON.Rule = fingerprint.RuleJSON
	print := func(c refrain.Contract, input any) fingerprint.Print {
		in := call("k", input)
		in.Contract = c
		return claimOf(t, in).Request.Print
	}
	plain := minimal()
	tests := []struct {
		name string
		a, b fingerprint.Print
		same bool
	}{
		{"one value", print(plain, order{"A", 2}), print(plain, order{"A", 2}), true},
		{"another value", print(plain, order{"A", 2}), print(plain, order{"A", 3}), false},
		{"a struct and a map of the same JSON", print(plain, order{"A", 2}), print(plain, map[string]any{"quantity": 2, "sku": "A"}), true},
		{"numbers by value", print(plain, map[string]any{"n": 1}), print(plain, map[string]any{"n": 1.0}), true},
		{"bytes as they are", print(plain, []byte(`{"a":1}`)), print(plain, []byte(`{"a": 1}`)), false},
		{"bytes under the JSON rule", print(asJSON, []byte(`{"a":1,"b":2}`)), print(asJSON, []byte(`{"b":2.0, "a":1}`)), true},
		{"bytes under JSON and a value", print(asJSON, []byte(`{"quantity":2,"sku":"A"}`)), print(plain, order{"A", 2}), true},
		{"nothing and no bytes", print(plain, nil), print(plain, []byte{}), true},
		{"nothing and an empty string", print(plain, nil), print(plain, ""), false},
		{"an empty string and null", print(plain, ""), print(plain, (*order)(nil)), false},
		{"text and its bytes", print(plain, "x"), print(plain, []byte("x")), false},
		{"another schema", print(plain, order{"A", 2}), print(schema2, order{"A", 2}), false},
	}
	for _, tt := range tests {
		if got := tt.a.Same(tt.b); got != tt.same {
			t.Errorf("%s: same = %t, want %t (%s/%s and %s/%s)", tt.name, got, tt.same, tt.a.Rule, tt.a.Schema, tt.b.Rule, tt.b.Schema)
		}
	}
}

func TestClaimInputRefused(t *testing.T) {
	t.Parallel()
	bad := call("k", []byte(`{"a":1,"a":2}`))
	bad.Contract.Rule = fingerprint.RuleJSON
	_, err := bad.Claim()
	var refusal *refrain.Error
	if !errors.As(err, &refusal) || refusal.Problem != refrain.ErrBodyNotCanonical || refusal.Row != "13" {
		t.Errorf("bytes that are no JSON: %v", err)
	}
	if _, err := call("k", math.NaN()).Claim(); err == nil || errors.As(err, &refusal) {
		t.Errorf("a value without JSON: %v, want a plain error", err)
	}
	if _, err := call("k", func() {}).Claim(); err == nil || !strings.HasPrefix(err.Error(), "refrain: the call's input: ") {
		t.Errorf("a function as input: %v", err)
	}
}

func TestClaimPrint(t *testing.T) {
	t.Parallel()
	own := fingerprint.Print{Raw: [32]byte{1}, Deciding: [32]byte{2}, Rule: "order/1", Schema: "9"}
	c := call("k", func() {}) // never looked at
	c.Print = &own
	if got := claimOf(t, c).Request.Print; got != own {
		t.Errorf("print %+v, want the caller's own", got)
	}
}

func TestCallWait(t *testing.T) {
	for _, tt := range []struct{ contract, call, want time.Duration }{
		{0, 0, refrain.DefaultWait},
		{0, time.Second, time.Second},
		{0, time.Minute, refrain.DefaultWait}, // never longer than the contract's
		{time.Minute, 3 * time.Second, 3 * time.Second},
		{0, -1, 0},
		{-1, time.Second, 0},
	} {
		call := refrain.Call{Contract: refrain.Contract{Operation: "a", Schema: "1", ReplayFor: 1e9, RememberFor: 1e9, Wait: tt.contract},
			Scope: refrain.Tenant("north"), Key: "k", Wait: tt.call}
		claim, err := call.Claim()
		if err != nil || claim.Policy.Wait != tt.want {
			t.Errorf("contract %v, call %v: %v, %v; want %v", tt.contract, tt.call, claim.Policy.Wait, err, tt.want)
		}
	}
}
