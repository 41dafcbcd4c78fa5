package refrain_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/fingerprint"
)

// published is the form other programs read; a change here changes what is stored.
const published = `{
  "operation": "orders.create",
  "schema": "1",
  "identity": "tenant[,subject]",
  "replay_for": "P1D",
  "remember_for": "P30D",
  "key_time": "by-shape",
  "skew": "PT5M",
  "key_required": true,
  "methods": [
    "POST",
    "PATCH"
  ],
  "max_body": 1048576,
  "max_response": 1048576,
  "oversize": "refuse",
  "gone": 410,
  "async": false,
  "mode": "enforce",
  "untimed_at_fence": "review",
  "wait": "PT2S",
  "max_execution": "PT30S",
  "lease": "PT30S",
  "on_lost": "unknown"
}`

const publishedWhole = `{
  "operation": "payments/refund",
  "schema": "2026-03",
  "identity": "tenant,region",
  "replay_for": "PT1H30M",
  "remember_for": "P30DT1H30M",
  "key_time": "required",
  "skew": "PT0S",
  "key_required": false,
  "methods": [
    "PUT"
  ],
  "fields": [
    "Accept-Language"
  ],
  "rule": "refund/3",
  "max_body": 10,
  "max_response": 20,
  "oversize": "digest",
  "gone": 303,
  "async": true,
  "mode": "observe",
  "untimed_at_fence": "execute",
  "wait": "PT0.25S",
  "max_execution": "PT1M0.5S",
  "lease": "PT30S",
  "on_lost": "unknown"
}`

func TestContractPublished(t *testing.T) {
	t.Parallel()
	whole := refrain.Contract{
		Operation: "payments/refund", Schema: "2026-03",
		ReplayFor: 90 * time.Minute, RememberFor: 30*day + 90*time.Minute,
		Dimensions: []string{"tenant", "region"}, KeyTime: refrain.KeyTimeRequired, Skew: -1, RunUntimed: true,
		Fields: []string{"Accept-Language"}, Rule: fingerprint.RuleJSON, Meaning: meaning, MeaningRule: "refund/3",
		KeyOptional: true, Methods: []string{"PUT"}, MaxBody: 10, MaxResponse: 20, KeepDigest: true, SeeOther: true,
		Async: true, Observe: true, Wait: 250 * time.Millisecond, MaxExecution: time.Minute + 500*time.Millisecond,
	}
	for want, contract := range map[string]refrain.Contract{published: minimal(), publishedWhole: whole} {
		if err := contract.Validate(); err != nil {
			t.Fatal(err)
		}
		var text bytes.Buffer
		compact, err := json.Marshal(contract)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Indent(&text, compact, "", "  "); err != nil {
			t.Fatal(err)
		}
		if text.String() != want {
			t.Errorf("%s is published as\n%s\nwant\n%s", contract.Operation, &text, want)
		}
	}
}

func TestContractPublishedDurations(t *testing.T) {
	t.Parallel()
	tests := map[time.Duration]string{
		time.Second:                            "PT1S",
		1500 * time.Millisecond:                "PT1.5S",
		time.Second + 1:                        "PT1.000000001S",
		10 * time.Second:                       "PT10S",
		time.Minute:                            "PT1M",
		10 * time.Minute:                       "PT10M",
		90 * time.Minute:                       "PT1H30M",
		time.Hour:                              "PT1H",
		time.Hour + time.Second:                "PT1H1S",
		10 * time.Hour:                         "PT10H",
		10*time.Hour + 10*time.Minute:          "PT10H10M",
		day - time.Second:                      "PT23H59M59S",
		day:                                    "P1D",
		day + time.Millisecond:                 "P1DT0.001S",
		30 * day:                               "P30D",
		30*day + 90*time.Minute:                "P30DT1H30M",
		10*day + 20*time.Hour + 30*time.Second: "P10DT20H30S",
		36500 * day:                            "P36500D",
	}
	for d, want := range tests {
		c := minimal()
		c.ReplayFor, c.RememberFor = d, 36500*day
		text, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		var form struct {
			ReplayFor string `json:"replay_for"`
		}
		if err := json.Unmarshal(text, &form); err != nil {
			t.Fatal(err)
		}
		if form.ReplayFor != want {
			t.Errorf("%v is published as %q, want %q", d, form.ReplayFor, want)
		}
		var read refrain.Contract
		if err := read.UnmarshalJSON(text); err != nil || read.ReplayFor != d {
			t.Errorf("%q is read as %v, %v", want, read.ReplayFor, err)
		}
	}
}

func TestContractPublishedKeyTimes(t *testing.T) {
	t.Parallel()
	names := map[refrain.KeyTime]string{
		refrain.KeyTimeByShape: "by-shape", refrain.KeyTimeULID: "ulid",
		refrain.KeyTimeNone: "none", refrain.KeyTimeRequired: "required",
	}
	for keyTime, name := range names {
		c := minimal()
		c.KeyTime = keyTime
		text, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		if want := `"key_time":"` + name + `"`; !bytes.Contains(text, []byte(want)) {
			t.Errorf("%s lacks %s", text, want)
		}
	}
}

func TestContractRule(t *testing.T) {
	t.Parallel()
	c := minimal()
	c.Rule = fingerprint.RuleForm
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	if want := `"rule":"form/1"`; !bytes.Contains(text, []byte(want)) {
		t.Errorf("%s lacks %s", text, want)
	}
}

// TestIdentityVersion: a store compares it, so nil must differ from any list.
func TestIdentityVersion(t *testing.T) {
	t.Parallel()
	seen := map[string][]string{}
	for _, dims := range [][]string{nil, {"tenant"}, {"tenant", "subject"}, {"tenant", "region"}, {"tenant", "region", "subject"}} {
		c := minimal()
		c.Dimensions = dims
		if err := c.Validate(); err != nil {
			t.Fatal(err)
		}
		version := c.IdentityVersion()
		if other, taken := seen[version]; taken {
			t.Errorf("%q and %q have the version %q", dims, other, version)
		}
		seen[version] = dims
		claim, err := refrain.Call{Contract: c, Scope: scopeOf(dims), Key: "k"}.Claim()
		if err != nil {
			t.Fatal(err)
		}
		if claim.IdentityVersion != version {
			t.Errorf("the claim carries %q, want %q", claim.IdentityVersion, version)
		}
	}
}

// TestPublishedContractReadsBack: what is published says the same when it is
// read and published again.
func TestPublishedContractReadsBack(t *testing.T) {
	full := minimal()
	full.Dimensions, full.KeyTime, full.Skew = []string{"tenant", "region"}, refrain.KeyTimeNone, -1
	full.Fields, full.Rule, full.ExactNames, full.KeyOptional = []string{"Accept-Language"}, "json-exact/1", true, true
	full.KeepDigest, full.SeeOther, full.Async, full.Observe, full.RunUntimed = true, true, true, true, true
	full.RerunLost, full.FreeOn, full.Lease, full.Wait = true, []int{404}, 90*time.Minute+1500*time.Millisecond, -1
	full.Lease = 90 * time.Second
	meaning := minimal()
	meaning.MeaningRule = "orders/3"
	for name, c := range map[string]refrain.Contract{"least": minimal(), "all": full, "meaning": meaning} {
		first, err := c.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		var read refrain.Contract
		if err := read.UnmarshalJSON(first); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		again, err := read.MarshalJSON()
		if err != nil || string(again) != string(first) {
			t.Errorf("%s: read back as\n%s, %v; want\n%s", name, again, err, first)
		}
	}
	for _, bad := range []string{`{`, `{"key_time":"never"}`, `{"key_time":"none","wait":"2 s"}`, `{"key_time":"none","wait":"P1Y"}`,
		`{"key_time":"none","wait":"P"}`, `{"key_time":"none","wait":"PT"}`, `{"key_time":"none","lease":"P999999999D"}`} {
		if err := new(refrain.Contract).UnmarshalJSON([]byte(bad)); err == nil {
			t.Errorf("%s was read", bad)
		}
	}
}
