package record

import (
	"testing"

	"github.com/refrain-dev/refrain/fingerprint"
)

// TestSameRequest is row 4 across a deploy that changed the rule or the schema.
func TestSameRequest(t *testing.T) {
	t.Parallel()
	digest := func(b byte) (d [32]byte) { d[0] = b; return d }
	print := func(raw, deciding byte, rule, schema string) fingerprint.Print {
		return fingerprint.Print{Raw: digest(raw), Deciding: digest(deciding), Rule: rule, Schema: schema}
	}
	knows := func(b byte) func(string, string) ([32]byte, bool) {
		return func(rule, schema string) ([32]byte, bool) { return digest(b), rule == "old/1" && schema == "1" }
	}
	tests := []struct {
		name      string
		print     fingerprint.Print
		recompute func(string, string) ([32]byte, bool)
		stored    fingerprint.Print
		same      bool
	}{
		{"same deciding, other raw", print(1, 7, "r", "1"), nil, print(2, 7, "r", "1"), true},
		{"other deciding, same raw", print(1, 7, "r", "1"), nil, print(1, 8, "r", "1"), false},
		{"same rule does not recompute", print(1, 7, "old/1", "1"), knows(8), print(1, 8, "old/1", "1"), false},
		{"other rule, recomputed", print(1, 7, "new/1", "1"), knows(8), print(2, 8, "old/1", "1"), true},
		{"other rule, recomputed to another", print(1, 7, "new/1", "1"), knows(9), print(1, 8, "old/1", "1"), false},
		{"other schema, recomputed", print(1, 7, "old/1", "2"), knows(8), print(2, 8, "old/1", "1"), true},
		{"unknown rule, same raw", print(1, 7, "new/1", "1"), knows(8), print(1, 8, "lost/1", "1"), true},
		{"unknown rule, other raw", print(1, 7, "new/1", "1"), knows(8), print(2, 8, "lost/1", "1"), false},
		{"deciding digests of two rules never agree", print(1, 7, "new/1", "1"), nil, print(2, 7, "old/1", "1"), false},
		{"a rebuilt record knows no request", print(1, 7, "new/1", "1"), nil, fingerprint.Print{}, true},
		{"a print without a rule is one", print(1, 7, "new/1", "1"), nil, print(2, 7, "", ""), false},
		{"nothing to recompute with, same raw", print(1, 7, "new/1", "1"), nil, print(1, 8, "old/1", "1"), true},
	}
	for _, tt := range tests {
		rec := receipt(Result{})
		rec.Print = tt.stored
		req := Request{Key: "k", Print: tt.print, Recompute: tt.recompute}
		want := refusal("4", KeyReused)
		if tt.same {
			want = replay
		}
		if got := Decide(policy(), Seen{Record: rec}, req, now); got != want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, want)
		}
	}
}
