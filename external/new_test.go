package external_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/external"
	"github.com/refrain-dev/refrain/memstore"
	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"
)

// deaf is a provider that cannot be asked, whatever its terms say.
type deaf struct{ terms operation.Terms }

func (d deaf) Terms() operation.Terms { return d.terms }
func (deaf) Submit(context.Context, external.Submission) operation.Reply {
	return lost
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	type step = external.Step[memstore.Tx]
	day := operation.Terms{Dedupes: true, DedupesFor: 24 * time.Hour}
	for name, tt := range map[string]struct {
		provider external.Provider
		steps    []step
		want     string // "" means that it is fine
	}{
		"nothing":              {deaf{}, nil, ""},
		"plain":                {deaf{}, []step{{Name: "s", Provider: "p"}}, ""},
		"no provider":          {nil, nil, "is nil"},
		"unknown provider":     {deaf{}, []step{{Name: "s", Provider: "q"}}, `"q"`},
		"no name":              {deaf{}, []step{{Provider: "p"}}, "Step.Name"},
		"a NUL in a name":      {deaf{}, []step{{Name: "s\x00", Provider: "p"}}, "Step.Name"},
		"no UTF-8 in a name":   {deaf{}, []step{{Name: "s\xff", Provider: "p"}}, "Step.Name"},
		"long name":            {deaf{}, []step{{Name: strings.Repeat("s", 65), Provider: "p"}}, "Step.Name"},
		"twice":                {deaf{}, []step{{Name: "s", Provider: "p"}, {Name: "s", Provider: "p"}}, "two steps"},
		"negative":             {deaf{}, []step{{Name: "s", Provider: "p", Within: -1}}, "negative"},
		"invalid terms":        {deaf{operation.Terms{DedupesFor: time.Hour}}, nil, "DedupesFor"},
		"keys too short":       {deaf{operation.Terms{KeyMax: 35}}, nil, "keys"},
		"keys fit":             {deaf{operation.Terms{KeyMin: 36, KeyMax: 36}}, nil, ""},
		"keys too long":        {deaf{operation.Terms{KeyMin: 37}}, nil, "keys"},
		"queries without":      {deaf{operation.Terms{Queries: true}}, nil, "Query"},
		"at least once":        {deaf{operation.Terms{AtLeastOnce: true}}, []step{{Name: "s", Provider: "p"}}, "act twice"},
		"at least once is ok":  {deaf{operation.Terms{AtLeastOnce: true}}, []step{{Name: "s", Provider: "p", Needs: external.Needs{AtLeastOnce: true}}}, ""},
		"needs dedupes":        {deaf{}, []step{{Name: "s", Provider: "p", Needs: external.Needs{Dedupes: true}}}, "repeated key"},
		"needs dedupes for":    {deaf{}, []step{{Name: "s", Provider: "p", Needs: external.Needs{DedupesFor: time.Hour}}}, "repeated key"},
		"needs a longer one":   {deaf{day}, []step{{Name: "s", Provider: "p", Needs: external.Needs{DedupesFor: 25 * time.Hour}}}, "25h"},
		"needs that one":       {deaf{day}, []step{{Name: "s", Provider: "p", Needs: external.Needs{DedupesFor: 24 * time.Hour}}}, ""},
		"dedupes for ever":     {deaf{operation.Terms{Dedupes: true}}, []step{{Name: "s", Provider: "p", Needs: external.Needs{DedupesFor: 999 * time.Hour}}}, ""},
		"needs to ask":         {deaf{day}, []step{{Name: "s", Provider: "p", Needs: external.Needs{Queries: true}}}, "asked"},
		"needs less than none": {deaf{day}, []step{{Name: "s", Provider: "p", Needs: external.Needs{DedupesFor: -1}}}, "negative"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := memstore.New(memstore.Options{})
			_, err := external.New(db.Operations(), external.Options{Providers: map[string]external.Provider{"p": tt.provider}}, tt.steps...)
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("New: %v, want %q", err, tt.want)
			}
		})
	}
	if _, err := external.New[memstore.Tx](nil, external.Options{}); err == nil {
		t.Error("a runner without a store")
	}
}

func TestAcceptRefuses(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, d *depot) {
		d.runner = d.another(external.Step[memstore.Tx]{Name: "mute", Provider: "carrier"})
		ctx := t.Context()
		tx, err := d.db.Begin(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for name, tt := range map[string]struct {
			in   external.Intent
			want error
		}{
			"no step":   {external.Intent{Step: "fly"}, external.ErrNoStep},
			"no action": {external.Intent{Step: "ship"}, external.ErrNoAction},
			"too large": {external.Intent{Step: "ship", Detached: true, Input: make([]byte, operation.MaxInput+1)}, nil},
			"partition": {external.Intent{Step: "ship", Detached: true, Partition: strings.Repeat("p", 256)}, nil},
			"a NUL":     {external.Intent{Step: "ship", Detached: true, Partition: "p\x00"}, nil},
			"no UTF-8":  {external.Intent{Step: "ship", Detached: true, Partition: "p\xff"}, nil},
		} {
			if _, err := d.runner.Accept(ctx, tx, tt.in); err == nil || tt.want != nil && !errors.Is(err, tt.want) {
				t.Errorf("%s: %v", name, err)
			}
		}
		_ = tx.Rollback()
		out, err := d.db.Execute(ctx, refrain.Call{Contract: shipments, Scope: refrain.Tenant("north"), Key: "k"},
			func(ctx context.Context, tx memstore.Tx) (refrain.Result, error) {
				if _, err := d.runner.Accept(ctx, tx, external.Intent{Step: "mute"}); err == nil {
					t.Error("an action waits for a step without Settle")
				}
				input := []byte("parcel")
				o, err := d.runner.Accept(ctx, tx, external.Intent{Step: "ship", Input: input})
				input[0] = 'X'
				if err != nil || string(o.Input) != "parcel" {
					t.Errorf("accepted %q, %v", o.Input, err)
				}
				if _, err := d.runner.Accept(ctx, tx, external.Intent{Step: "ship"}); !errors.Is(err, external.ErrWaits) {
					t.Errorf("the action waits for two: %v", err)
				}
				return refrain.Result{}, nil
			})
		if err != nil || out.State != record.Accepted {
			t.Errorf("outcome %+v, %v", out, err)
		}
	})
}

// TestFailedAcceptLeavesTheActionAlone: an effect that goes on without its
// operation is settled as usual.
func TestFailedAcceptLeavesTheActionAlone(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, d *depot) {
		d.runner = d.another(external.Step[memstore.Tx]{Name: "mute", Provider: "carrier"})
		done, err := refrain.Do(t.Context(), d.db, refrain.Call{Contract: shipments, Scope: refrain.Tenant("north"), Key: "k"},
			func(ctx context.Context, tx memstore.Tx) (string, error) {
				if _, err := d.runner.Accept(ctx, tx, external.Intent{Step: "mute"}); err == nil {
					t.Error("accepted")
				}
				return "without", nil
			})
		if err != nil || done.State != record.Confirmed || done.Value != "without" {
			t.Errorf("outcome %+v, %v", done, err)
		}
	})
}

type parcel struct {
	To    string `json:"to"`
	Grams int    `json:"grams"`
}

type label struct {
	Track string `json:"track"`
}

func TestDefine(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, d *depot) {
		var got external.Outcome[parcel, label]
		ship := external.Define(external.Effect[memstore.Tx, parcel, label]{
			Name: "typed", Provider: "carrier",
			Settle: func(_ context.Context, _ memstore.Tx, s external.Outcome[parcel, label]) (record.Result, error) {
				got = s
				return external.JSON(0, s.Answer)
			},
		})
		do := func(key string) (refrain.Done[label], error) {
			return refrain.Do(t.Context(), d.db, refrain.Call{Contract: shipments, Scope: refrain.Tenant("north"), Key: key},
				func(ctx context.Context, tx memstore.Tx) (label, error) {
					_, err := ship.Accept(ctx, tx, parcel{"Oslo", 200})
					return label{}, err
				})
		}
		if _, err := do("early"); err == nil {
			t.Error("accepted before New")
		}
		answer := func(body string) func(context.Context, int, external.Submission) operation.Reply {
			return func(_ context.Context, _ int, s external.Submission) operation.Reply {
				var p parcel
				if err := json.Unmarshal(s.Input, &p); err != nil || p != (parcel{"Oslo", 200}) {
					t.Errorf("submitted %s", s.Input)
				}
				return operation.Reply{End: operation.Confirmed, Body: []byte(body)}
			}
		}
		d.carrier.from(answer(`{"track":"T-1"}`), nil)
		d.start(ship.Step())
		_, _ = do("a")
		pass(time.Second)
		if again, err := do("a"); err != nil || again.Value != (label{"T-1"}) {
			t.Errorf("repeat: %+v, %v", again, err)
		}
		if got.Input != (parcel{"Oslo", 200}) || got.Answer != (label{"T-1"}) || got.Undecoded != nil || !got.Confirmed {
			t.Errorf("settled %+v", got)
		}
		d.carrier.from(answer("<html>"), nil)
		_, _ = do("b")
		pass(time.Second)
		if got.Undecoded == nil || got.Answer != (label{}) || !got.Confirmed {
			t.Errorf("settled %+v", got)
		}
	})
}
