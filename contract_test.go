package refrain_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/fingerprint"
	"github.com/refrain-dev/refrain/record"
)

const day = 24 * time.Hour

// minimal is a contract of required fields alone.
func minimal() refrain.Contract {
	return refrain.Contract{Operation: "orders.create", Schema: "1", ReplayFor: day, RememberFor: 30 * day}
}

func meaning(fingerprint.Request) ([]byte, error) { return nil, nil }

func TestContractValidate(t *testing.T) {
	t.Parallel()
	type change = func(*refrain.Contract)
	tests := []struct {
		field  string // "" is valid
		change change
	}{
		{"", func(c *refrain.Contract) {}},
		{"", func(c *refrain.Contract) { c.Operation = strings.Repeat("a", 100) }},
		{"", func(c *refrain.Contract) { c.Operation = "A-z_0.9/x" }},
		{"Operation", func(c *refrain.Contract) { c.Operation = "" }},
		{"Operation", func(c *refrain.Contract) { c.Operation = strings.Repeat("a", 101) }},
		{"Operation", func(c *refrain.Contract) { c.Operation = "orders create" }},
		{"Operation", func(c *refrain.Contract) { c.Operation = "orders,create" }},
		{"Operation", func(c *refrain.Contract) { c.Operation = "commandé" }},
		{"", func(c *refrain.Contract) { c.Schema = strings.Repeat("~", 32) }},
		{"Schema", func(c *refrain.Contract) { c.Schema = "" }},
		{"Schema", func(c *refrain.Contract) { c.Schema = strings.Repeat("1", 33) }},
		{"Schema", func(c *refrain.Contract) { c.Schema = "v 1" }},
		{"Schema", func(c *refrain.Contract) { c.Schema = "v\x7f" }},
		{"Schema", func(c *refrain.Contract) { c.Schema = "é" }},
		{"", func(c *refrain.Contract) { c.ReplayFor = time.Second }},
		{"ReplayFor", func(c *refrain.Contract) { c.ReplayFor = time.Second - 1 }},
		{"ReplayFor", func(c *refrain.Contract) { c.ReplayFor = 0 }},
		{"ReplayFor", func(c *refrain.Contract) { c.ReplayFor = -day }},
		{"", func(c *refrain.Contract) { c.RememberFor = c.ReplayFor }},
		{"RememberFor", func(c *refrain.Contract) { c.RememberFor = c.ReplayFor - 1 }},
		{"RememberFor", func(c *refrain.Contract) { c.RememberFor = 0 }},
		{"", func(c *refrain.Contract) { c.RememberFor = 36500 * day }},
		{"RememberFor", func(c *refrain.Contract) { c.RememberFor = 36500*day + 1 }},
		{"", func(c *refrain.Contract) { c.KeyTime = refrain.KeyTimeRequired }},
		{"KeyTime", func(c *refrain.Contract) { c.KeyTime = refrain.KeyTimeRequired + 1 }},
		{"KeyTime", func(c *refrain.Contract) { c.KeyTime = -1 }},
		{"", func(c *refrain.Contract) { c.Skew = c.RememberFor / 4 }},
		{"", func(c *refrain.Contract) { c.Skew = -1 }},
		{"Skew", func(c *refrain.Contract) { c.Skew = c.RememberFor/4 + 1 }},
		{"", func(c *refrain.Contract) { c.Rule = fingerprint.RuleForm }},
		{"Rule", func(c *refrain.Contract) { c.Rule = "json-exact/2" }},
		{"", func(c *refrain.Contract) { c.Meaning, c.MeaningRule = meaning, "order/1" }},
		{"MeaningRule", func(c *refrain.Contract) { c.Meaning = meaning }},
		{"MeaningRule", func(c *refrain.Contract) { c.MeaningRule = "order/1" }},
		{"MeaningRule", func(c *refrain.Contract) { c.Meaning, c.MeaningRule = meaning, fingerprint.RuleJSON }},
		{"", func(c *refrain.Contract) { c.Dimensions = []string{"tenant", "region", "a", "b", "c", "d", "e", "f"} }},
		{"Dimensions", func(c *refrain.Contract) {
			c.Dimensions = []string{"tenant", "region", "a", "b", "c", "d", "e", "f", "g"}
		}},
		{"Dimensions", func(c *refrain.Contract) { c.Dimensions = []string{} }},
		{"Dimensions", func(c *refrain.Contract) { c.Dimensions = []string{"region", "tenant"} }},
		{"Dimensions", func(c *refrain.Contract) { c.Dimensions = []string{"tenant", ""} }},
		{"Dimensions", func(c *refrain.Contract) { c.Dimensions = []string{"tenant", "tenant"} }},
		{"Dimensions", func(c *refrain.Contract) { c.Dimensions = []string{"tenant", "a,b"} }},
		{"", func(c *refrain.Contract) { c.Wait, c.CommitWait, c.MaxExecution = time.Hour, time.Hour, day }},
		{"", func(c *refrain.Contract) { c.Wait, c.CommitWait = -1, -1 }},
		{"Wait", func(c *refrain.Contract) { c.Wait = time.Hour + 1 }},
		{"CommitWait", func(c *refrain.Contract) { c.CommitWait = time.Hour + 1 }},
		{"MaxExecution", func(c *refrain.Contract) { c.MaxExecution = day + 1 }},
		{"MaxExecution", func(c *refrain.Contract) { c.MaxExecution = -1 }},
		{"", func(c *refrain.Contract) { c.Lease, c.FreeOn = time.Second, []int{400, 599} }},
		{"Lease", func(c *refrain.Contract) { c.Lease = time.Second - 1 }},
		{"Lease", func(c *refrain.Contract) { c.Lease = -1 }},
		{"Lease", func(c *refrain.Contract) { c.Lease = time.Hour + 1 }},
		{"FreeOn", func(c *refrain.Contract) { c.FreeOn = []int{404, 201} }},
		{"FreeOn", func(c *refrain.Contract) { c.FreeOn = []int{0} }},
	}
	for i, tt := range tests {
		c := minimal()
		tt.change(&c)
		err := c.Validate()
		want := ""
		if tt.field != "" {
			want = fmt.Sprintf("refrain: Contract.%s of %q ", tt.field, c.Operation)
		}
		if (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("case %d: %v, want one on field %q", i, err, tt.field)
		}
		// A call with such a contract goes nowhere.
		_, claimErr := refrain.Call{Contract: c, Scope: refrain.Tenant("north"), Key: "k"}.Claim()
		if want != "" && (claimErr == nil || claimErr.Error() != err.Error()) {
			t.Errorf("case %d: Claim returns %v, want %v", i, claimErr, err)
		}
	}
	if err := (refrain.Contract{}).Validate(); err == nil {
		t.Error("the zero contract is valid")
	}
}

// policyOf is what the domain reads of a contract.
func policyOf(t *testing.T, c refrain.Contract) record.Policy {
	t.Helper()
	claim, err := refrain.Call{Contract: c, Scope: refrain.Tenant("north"), Key: "k"}.Claim()
	if err != nil {
		t.Fatal(err)
	}
	return claim.Policy
}

func TestContractDefaults(t *testing.T) {
	t.Parallel()
	want := record.Policy{
		ReplayFor: day, RememberFor: 30 * day, Skew: 5 * time.Minute,
		MaxExecution: 30 * time.Second, CommitWait: 10 * time.Second, Wait: 2 * time.Second,
		MaxWaiters: 1000, MaxResult: 1 << 20, Lease: 30 * time.Second,
	}
	if got := policyOf(t, minimal()); got != want {
		t.Errorf("defaults are\n%+v, want\n%+v", got, want)
	}
	if got := minimal().BodyLimit(); got != 1<<20 {
		t.Errorf("body limit %d by default", got)
	}

	short := minimal()
	short.ReplayFor, short.RememberFor = time.Minute, 10*time.Minute
	if got, want := policyOf(t, short).Skew, 150*time.Second; got != want {
		t.Errorf("skew under a short memory is %v, want %v", got, want)
	}

	none := minimal()
	none.Skew, none.Wait, none.CommitWait, none.MaxWaiters, none.MaxResponse, none.MaxBody = -1, -1, -1, -1, -1, -1
	p := policyOf(t, none)
	if p.Skew != 0 || p.Wait != 0 || p.CommitWait != 0 || p.MaxWaiters != 0 || p.MaxResult != 0 || none.BodyLimit() != 0 {
		t.Errorf("negative values mean none, got %+v, body %d", p, none.BodyLimit())
	}

	own := minimal()
	own.KeyTime, own.Skew, own.RunUntimed, own.Async = refrain.KeyTimeULID, time.Minute, true, true
	own.Wait, own.MaxExecution, own.CommitWait = time.Second, 2*time.Second, 3*time.Second
	own.MaxWaiters, own.MaxResponse, own.KeepDigest, own.Ungrouped = 7, 9, true, true
	own.Lease, own.RerunLost = 4*time.Second, true
	want = record.Policy{
		ReplayFor: day, RememberFor: 30 * day, KeyTime: record.ULID, Skew: time.Minute, RunUntimed: true, Async: true,
		Wait: time.Second, MaxExecution: 2 * time.Second, CommitWait: 3 * time.Second,
		MaxWaiters: 7, MaxResult: 9, Digest: true, Solo: true, Lease: 4 * time.Second, Rerun: true,
	}
	if got := policyOf(t, own); got != want {
		t.Errorf("own values are\n%+v, want\n%+v", got, want)
	}
}
