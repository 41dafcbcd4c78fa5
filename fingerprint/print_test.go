package fingerprint

import "testing"

func TestSame(t *testing.T) {
	t.Parallel()
	stored := Print{Raw: [32]byte{1}, Deciding: [32]byte{2}, Rule: RuleJSON, Schema: "1"}
	for name, c := range map[string]struct {
		p    Print
		want bool
	}{
		"equal":                         {stored, true},
		"other raw":                     {Print{[32]byte{9}, [32]byte{2}, RuleJSON, "1"}, true},
		"other deciding":                {Print{[32]byte{1}, [32]byte{9}, RuleJSON, "1"}, false},
		"last byte":                     {Print{[32]byte{1}, [32]byte{0: 2, 31: 1}, RuleJSON, "1"}, false},
		"other rule, raw agrees":        {Print{[32]byte{1}, [32]byte{9}, RuleRaw, "1"}, true},
		"other rule, deciding agrees":   {Print{[32]byte{9}, [32]byte{2}, RuleRaw, "1"}, false},
		"other schema, raw agrees":      {Print{[32]byte{1}, [32]byte{9}, RuleJSON, "2"}, true},
		"other schema, deciding agrees": {Print{[32]byte{9}, [32]byte{2}, RuleJSON, "2"}, false},
	} {
		if got := c.p.Same(stored); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A deploy changed the schema: recomputed as Same's documentation says, the
// retry of an old request is recognised and another request is not.
func TestRecomputedAfterADeploy(t *testing.T) {
	t.Parallel()
	stored := compute(t, order(), Options{})
	retry := order()
	retry.Schema = "2"
	retry.Body = []byte(`{"amount":1e1}`)
	if compute(t, retry, Options{}).Same(stored) {
		t.Error("two schemas agree without recomputation")
	}
	retry.Schema = stored.Schema
	if !compute(t, retry, Options{Rule: stored.Rule}).Same(stored) {
		t.Error("the recomputed retry is not recognised")
	}
	retry.Body = []byte(`{"amount":11}`)
	if compute(t, retry, Options{Rule: stored.Rule}).Same(stored) {
		t.Error("another request is taken for the retry")
	}
}

func TestMeaning(t *testing.T) {
	t.Parallel()
	p := compute(t, order(), Options{})
	one := Meaning(p, "orders/1", []byte("buy 10"))
	if one.Raw != p.Raw || one.Schema != p.Schema || one.Rule != "orders/1" || one.Deciding == p.Deciding {
		t.Errorf("%+v", one)
	}
	other := order()
	other.Method, other.Body = "PATCH", []byte(`{"amount":20}`)
	q := compute(t, other, Options{})
	if !one.Same(Meaning(q, "orders/1", []byte("buy 10"))) {
		t.Error("one command, two requests")
	}
	if one.Same(Meaning(p, "orders/1", []byte("buy 11"))) {
		t.Error("the command does not decide")
	}
	if Meaning(p, "orders/1", []byte("x")).Deciding == Meaning(p, "orders/2", []byte("x")).Deciding {
		t.Error("the rule is not covered")
	}
}

func TestKnown(t *testing.T) {
	t.Parallel()
	for _, rule := range []string{RuleJSON, RuleForm, RuleMultipart, RuleRaw} {
		if !Known(rule) {
			t.Errorf("%s is unknown", rule)
		}
	}
	for _, rule := range []string{"", "json-exact/2", "orders/1"} {
		if Known(rule) {
			t.Errorf("%q is known", rule)
		}
	}
}
