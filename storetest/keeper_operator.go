package storetest

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

// oldestFirst: what waits for somebody comes first that waits longest. A
// submitted record whose lease is past is unknown, and a disputed one is of no
// other state.
func oldestFirst[T any](k *keeper[T]) {
	settled := func(r *record.Record) {
		r.Settle(record.Result{Body: []byte("a long answer")}, k.clock.Now(), k.policy())
	}
	lost := k.claim(k.Harness, k.call("lost", "one"))
	refs := map[string]string{"unknown": lost.Ref}
	k.clock.set(lost.Lease)
	for _, next := range []struct {
		name string
		make func() string
	}{
		{"submitted", func() string { return k.claim(k.Harness, k.call("live", "one")).Ref }},
		{"accepted", func() string {
			return k.place(k.call("accepted", "one"), func(r *record.Record) { r.State = record.Accepted }).Ref
		}},
		{"confirmed", func() string { return k.fresh(k.call("done", "one")).Ref }},
		{"disputed", func() string {
			return k.place(k.call("disputed", "one"), func(r *record.Record) { settled(r); r.Disputed = true }).Ref
		}},
		{"elsewhere", func() string { return k.claim(k.Harness, renamed(k.call("live", "one"), "orders.batch")).Ref }},
		{"rejected", func() string {
			out, err := k.execute(k.Harness, k.call("rejected", "one"), func(context.Context, T) (refrain.Result, error) {
				return refrain.Result{Rejected: true}, nil
			})
			if err != nil {
				k.t.Fatalf("Execute: %v", err)
			}
			return out.Ref
		}},
	} {
		refs[next.name] = next.make()
		k.clock.advance(time.Millisecond)
	}
	k.clock.set(lost.Lease) // past at the instant itself

	waiting := []string{"unknown", "submitted", "accepted", "disputed", "elsewhere"}
	for name, tt := range map[string]struct {
		query upkeep.Query
		want  []string
	}{
		"what waits":       {upkeep.Query{}, waiting},
		"unknown":          {upkeep.Query{State: "unknown"}, []string{"unknown"}},
		"submitted":        {upkeep.Query{State: "submitted"}, []string{"submitted", "elsewhere"}},
		"accepted":         {upkeep.Query{State: "accepted"}, []string{"accepted"}},
		"disputed":         {upkeep.Query{State: "disputed"}, []string{"disputed"}},
		"confirmed":        {upkeep.Query{State: "confirmed"}, []string{"confirmed"}},
		"rejected":         {upkeep.Query{State: "rejected"}, []string{"rejected"}},
		"limited":          {upkeep.Query{Limit: 2}, waiting[:2]},
		"a boundless one":  {upkeep.Query{Limit: 1 << 30}, waiting},
		"an operation":     {upkeep.Query{Operation: "orders.create"}, waiting[:4]},
		"both":             {upkeep.Query{Operation: "orders.batch", State: "submitted"}, []string{"elsewhere"}},
		"an unheard one":   {upkeep.Query{Operation: "orders.none"}, nil},
		"one that is less": {upkeep.Query{Operation: "orders"}, nil},
	} {
		recs, at, err := k.Keeper.Oldest(k.ctx, tt.query)
		if err != nil || !at.Equal(k.clock.Now()) {
			k.t.Errorf("%s: %v at %v", name, err, at)
		}
		var got, want []string
		for _, rec := range recs {
			got = append(got, rec.Ref)
			if len(rec.Result.Body) != 0 {
				k.t.Errorf("%s: %s comes with a body", name, rec.Ref)
			}
			if rec.Ref == refs["unknown"] && rec.State != record.Unknown {
				k.t.Errorf("%s: past its lease and %s", name, rec.State)
			}
		}
		for _, state := range tt.want {
			want = append(want, refs[state])
		}
		if !slices.Equal(got, want) {
			k.t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	if _, _, err := k.Keeper.Oldest(k.ctx, upkeep.Query{State: "pending"}); err == nil {
		k.t.Error("a state nobody knows was accepted")
	}
}

// standingNow: a record is told as its next reader will find it, and stays what
// it is.
func standingNow[T any](k *keeper[T]) {
	call := k.call("k", "one")
	own := k.claim(k.Harness, call)
	standing := func(want record.State) {
		k.t.Helper()
		rec, at, err := k.Keeper.Standing(k.ctx, own.Ref)
		if err != nil || rec.State != want || !at.Equal(k.clock.Now()) || rec.Identity != own.Identity {
			k.t.Errorf("Standing = %+v at %v, %v; want %s at %v", rec, at, err, want, k.clock.Now())
		}
	}
	standing(record.Submitted)
	k.clock.set(own.Lease.Add(-time.Microsecond))
	standing(record.Submitted)
	k.clock.set(own.Lease)
	standing(record.Unknown)
	if rec, err := k.Store.Find(k.ctx, own.Ref); err != nil || rec.State != record.Submitted || rec.Version != own.Version {
		k.t.Errorf("Standing wrote %+v, %v", rec, err)
	}
	for _, ref := range []string{record.NewRef(epoch), "op_none", ""} {
		if _, _, err := k.Keeper.Standing(k.ctx, ref); !errors.Is(err, record.ErrNotFound) {
			k.t.Errorf("Standing(%q): %v, want ErrNotFound", ref, err)
		}
	}
}

// auditsOfARecord: what an operator did is told with the record it was done to,
// oldest first; a refused action leaves no line.
func auditsOfARecord[T any](k *keeper[T]) {
	call := k.call("k", "one")
	own := k.claim(k.Harness, call)
	resolve := func(reason string) error {
		return k.Store.Change(k.ctx, own.Identity, func(seen record.Seen, now time.Time) (record.Edit, error) {
			return record.Resolve(seen, now, record.Result{Status: 201}, k.policy(), "ops", reason)
		})
	}
	if err := resolve("too early"); err == nil {
		k.t.Error("a live attempt was resolved")
	}
	k.audits(own.Ref)
	k.clock.set(own.Lease)
	reason := "seen at the provider: ' \\ é 日本"
	if err := resolve(reason); err != nil {
		k.t.Fatalf("Resolve: %v", err)
	}
	resolved := upkeep.Audit{At: own.Lease, By: "ops", Action: "resolve", Ref: own.Ref, Reason: reason}
	k.audits(own.Ref, resolved)
	k.clock.advance(time.Second)
	k.change(k.Harness, call, func(record.Seen, time.Time) record.Edit {
		return record.Edit{By: "else", Action: "noted", Reason: "r", Detail: "d"}
	})
	k.audits(own.Ref, resolved, upkeep.Audit{At: k.clock.Now(), By: "else", Action: "noted", Ref: own.Ref, Reason: "r", Detail: "d"})
	k.audits(record.NewRef(epoch))
	if out, err := k.do(call); err != nil || !out.Replayed || out.Status != 201 {
		k.t.Errorf("a repeat of what was resolved: %+v, %s", out, describe(err))
	}
	k.effects(0)
}

// audits demands the lines of a record. What a line of resolve details is the
// domain's to say.
func (k *keeper[T]) audits(ref string, want ...upkeep.Audit) {
	k.t.Helper()
	lines, err := k.Keeper.Audits(k.ctx, ref)
	if err != nil || len(lines) != len(want) {
		k.t.Fatalf("Audits = %+v, %v; want %+v", lines, err, want)
	}
	for i, line := range lines {
		if want[i].Detail == "" {
			line.Detail = ""
		}
		if !line.At.Equal(want[i].At) {
			k.t.Errorf("line %d is of %v, want %v", i, line.At, want[i].At)
		}
		if line.At = want[i].At; line != want[i] {
			k.t.Errorf("line %d is %+v, want %+v", i, line, want[i])
		}
	}
}
