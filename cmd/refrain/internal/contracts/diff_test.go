package contracts

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/fingerprint"
)

func base() refrain.Contract {
	return refrain.Contract{Operation: "orders.create", Schema: "1", ReplayFor: time.Hour, RememberFor: 48 * time.Hour}
}

func publish(t *testing.T, cs ...refrain.Contract) []Published {
	t.Helper()
	text, err := json.Marshal(cs)
	if err != nil {
		t.Fatal(err)
	}
	list, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func meaning(fingerprint.Request) ([]byte, error) { return nil, nil }

// kinds are the changes by what they are, with both directions' classes.
var kinds = []struct {
	member        string
	change        func(*refrain.Contract)
	forth, backto Class
}{
	{"identity", func(c *refrain.Contract) { c.Dimensions = []string{"tenant", "region"} }, Incompatible, Incompatible},
	{"schema", func(c *refrain.Contract) { c.Schema = "2" }, Compatible, Compatible},
	{"remember_for", func(c *refrain.Contract) { c.RememberFor -= time.Second }, NeedsYes, Compatible},
	{"replay_for", func(c *refrain.Contract) { c.ReplayFor /= 2 }, NeedsYes, Compatible},
	{"key_time", func(c *refrain.Contract) { c.KeyTime = refrain.KeyTimeNone }, Incompatible, Incompatible},
	{"key_time", func(c *refrain.Contract) { c.KeyTime = refrain.KeyTimeULID }, NeedsYes, Incompatible},
	{"key_time", func(c *refrain.Contract) { c.KeyTime = refrain.KeyTimeRequired }, NeedsYes, Incompatible},
	{"skew", func(c *refrain.Contract) { c.Skew = time.Second }, NeedsYes, Compatible},
	{"key_required", func(c *refrain.Contract) { c.KeyOptional = true }, Incompatible, NeedsYes},
	{"methods", func(c *refrain.Contract) { c.Methods = []string{"POST"} }, Incompatible, NeedsYes},
	{"fields", func(c *refrain.Contract) { c.Fields = []string{"Accept-Language"} }, NeedsYes, NeedsYes},
	{"rule", func(c *refrain.Contract) { c.Rule = fingerprint.RuleRaw }, Compatible, Compatible},
	{"rule", func(c *refrain.Contract) { c.Meaning, c.MeaningRule = meaning, "order/1" }, NeedsYes, NeedsYes},
	{"exact_names", func(c *refrain.Contract) { c.ExactNames = true }, NeedsYes, NeedsYes},
	{"max_body", func(c *refrain.Contract) { c.MaxBody = 1 }, NeedsYes, Compatible},
	{"max_response", func(c *refrain.Contract) { c.MaxResponse = 1 }, NeedsYes, Compatible},
	{"oversize", func(c *refrain.Contract) { c.KeepDigest = true }, Incompatible, NeedsYes},
	{"gone", func(c *refrain.Contract) { c.SeeOther = true }, NeedsYes, NeedsYes},
	{"async", func(c *refrain.Contract) { c.Async = true }, NeedsYes, NeedsYes},
	{"mode", func(c *refrain.Contract) { c.Observe = true }, Incompatible, NeedsYes},
	{"untimed_at_fence", func(c *refrain.Contract) { c.RunUntimed = true }, Incompatible, Compatible},
	{"wait", func(c *refrain.Contract) { c.Wait = time.Second }, Compatible, Compatible},
	{"max_execution", func(c *refrain.Contract) { c.MaxExecution = time.Second }, NeedsYes, Compatible},
	{"lease", func(c *refrain.Contract) { c.Lease = time.Second }, NeedsYes, Compatible},
	{"on_lost", func(c *refrain.Contract) { c.RerunLost = true }, Incompatible, NeedsYes},
	{"free_on", func(c *refrain.Contract) { c.FreeOn = []int{404} }, Incompatible, Compatible},
}

func TestCompare(t *testing.T) {
	t.Parallel()
	tested := make(map[string]bool)
	for _, kind := range kinds {
		tested[kind.member] = true
		changed := base()
		kind.change(&changed)
		older, newer := publish(t, base()), publish(t, changed)
		for _, way := range []struct {
			from, to []Published
			class    Class
		}{{older, newer, kind.forth}, {newer, older, kind.backto}} {
			got := Compare(way.from, way.to)
			if len(got) != 1 {
				t.Errorf("%s: %d changes: %+v", kind.member, len(got), got)
				continue
			}
			c := got[0]
			if c.Member != kind.member || c.Class != way.class || c.Operation != "orders.create" || c.Why == "" || c.From == c.To {
				t.Errorf("%s: %+v, want %s", kind.member, c, way.class)
			}
			if (c.WayOut == "") != (c.Class == Compatible) {
				t.Errorf("%s: the way out of a %s change is %q", kind.member, c.Class, c.WayOut)
			}
		}
		if got := Compare(older, older); len(got) != 0 {
			t.Errorf("no change: %+v", got)
		}
	}
	for member := range rules {
		if !tested[member] {
			t.Errorf("the rule of %s is not tested", member)
		}
	}
}

// Every member that can be published has a rule.
func TestRulesAreWhole(t *testing.T) {
	t.Parallel()
	full := base()
	for _, kind := range kinds {
		kind.change(&full)
	}
	for member := range publish(t, full)[0].Members {
		if rules[member] == nil && member != "operation" {
			t.Errorf("%s has no rule", member)
		}
	}
}

// A combination that is judged otherwise than its parts.
func TestCompareFieldsWithSchema(t *testing.T) {
	t.Parallel()
	changed := base()
	changed.Fields, changed.Schema = []string{"Accept-Language"}, "2"
	for _, c := range Compare(publish(t, base()), publish(t, changed)) {
		if c.Class != Compatible {
			t.Errorf("%+v", c)
		}
	}
	optional := base()
	optional.Methods, optional.KeyOptional = []string{"POST", "PATCH", "PUT"}, true
	was := base()
	was.KeyOptional = true
	if got := Compare(publish(t, was), publish(t, optional)); len(got) != 1 || got[0].Class != Compatible {
		t.Errorf("a method more under an optional key: %+v", got)
	}
}

func TestCompareOperations(t *testing.T) {
	t.Parallel()
	other, renamed := base(), base()
	other.Operation, other.Schema, renamed.Operation = "carts.close", "7", "orders.place"
	for name, tt := range map[string]struct {
		older, newer []refrain.Contract
		want         []string
	}{
		"added":                 {[]refrain.Contract{base()}, []refrain.Contract{base(), other}, []string{"carts.close ->carts.close compatible"}},
		"removed":               {[]refrain.Contract{base(), other}, []refrain.Contract{base()}, []string{"carts.close carts.close-> incompatible"}},
		"renamed":               {[]refrain.Contract{base()}, []refrain.Contract{renamed}, []string{"orders.create orders.create->orders.place incompatible"}},
		"replaced, not renamed": {[]refrain.Contract{base()}, []refrain.Contract{other}, []string{"orders.create orders.create-> incompatible", "carts.close ->carts.close compatible"}},
	} {
		var got []string
		for _, c := range Compare(publish(t, tt.older...), publish(t, tt.newer...)) {
			got = append(got, fmt.Sprintf("%s %s->%s %s", c.Operation, c.From, c.To, c.Class))
			if c.Class == Incompatible && !strings.Contains(c.WayOut, "refrain contract rekey --operation "+c.Operation+" --to ") {
				t.Errorf("%s: the way out is %q", name, c.WayOut)
			}
		}
		if !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// The worst comes first, and what this binary does not know is not waved through.
func TestCompareOrderAndUnknown(t *testing.T) {
	t.Parallel()
	text := func(extra string) []Published {
		list, err := Parse([]byte(`{"operation":"a","schema":"1","replay_for":"PT1H","remember_for":"P1D","key_time":"by-shape","key_required":true` + extra + `}`))
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	got := Compare(text(``), text(`,"wait":"PT9S","quota":[1, 2],"mode":"observe"`))
	if len(got) != 3 || got[0].Member != "mode" || got[1].Member != "quota" || got[1].Class != NeedsYes || got[1].To != "1,2" || got[2].Member != "wait" {
		t.Errorf("%+v", got)
	}
	if got := Compare(text(`,"quota":[1, 2]`), text(`,"quota":[1,2]`)); len(got) != 0 {
		t.Errorf("white space is a change: %+v", got)
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	one, err := json.Marshal(base())
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]int{
		string(one):                           1,
		" [" + string(one) + "]":              1,
		`{"contracts":[` + string(one) + `]}`: 1,
		`{"contracts":[]}`:                    0,
		`[]`:                                  0,
		`[` + string(one) + `,` + string(one) + `]`: -1,
		`{}`:                 -1,
		``:                   -1,
		`{"contracts":[{}]}`: -1,
		`{"contracts":[1]}`:  -1,
		`{"operation":"a","key_time":"by-shape","remember_for":"P1M"}`: -1,
	} {
		list, err := Parse([]byte(text))
		if want < 0 {
			if err == nil {
				t.Errorf("%s was accepted", text)
			}
		} else if err != nil || len(list) != want {
			t.Errorf("%s: %d, %v", text, len(list), err)
		}
	}
}
