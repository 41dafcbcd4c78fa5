package storetest

import (
	"context"
	"errors"
	"time"

	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

// closedStoreIsNoMiss: an error is never an empty lookup, so nothing runs.
func closedStoreIsNoMiss[T any](f *fixture[T]) {
	known := f.call("known", "one")
	original := f.fresh(known)
	f.effects(1)
	f.broken = true
	if err := f.Close(); err != nil {
		f.t.Fatalf("Close: %v", err)
	}
	runs := f.runs.Load()
	for _, key := range []string{"known", "unheard"} {
		refusal := f.refused(f.call(key, "one"), "9", record.StoreUnavailable)
		if !refusal.Retryable() || refusal.RetryAfter <= 0 || refusal.Err == nil {
			f.t.Errorf("row 9 tells %+v", refusal)
		}
	}
	if f.runs.Load() != runs {
		f.t.Error("an effect ran on a closed store")
	}
	_, _, err := f.Store.Load(f.ctx, identity(known))
	errs := map[string]error{"Load": err}
	_, errs["Find"] = f.Store.Find(f.ctx, original.Ref)
	_, errs["List"] = f.Store.List(f.ctx, record.Record{}, 0)
	_, errs["Reap"] = f.retention().Reap(f.ctx, upkeep.Reap{})
	_, errs["Walk"] = f.retention().Walk(f.ctx, "", 10)
	_, errs["Advance"] = f.retention().Advance(f.ctx)
	rec := record.Record{Identity: identity(known), Ref: record.NewRef(epoch), State: record.Accepted, Created: epoch}
	_, errs["Swap"] = f.Store.Swap(f.ctx, record.Record{}, rec)
	for name, err := range errs {
		if err == nil || errors.Is(err, record.ErrNotFound) || errors.Is(err, record.ErrSwapped) {
			f.t.Errorf("%s on a closed store: %v, want the store's own error", name, err)
		}
	}
}

func cancelledCallIsNoMiss[T any](f *fixture[T]) {
	call := f.call("k", "one")
	ctx, cancel := context.WithCancel(f.ctx)
	cancel()
	out, err := f.Exec.Execute(ctx, call, f.effect(call))
	f.isRefusal(out, err, "9", record.StoreUnavailable)
	if !errors.Is(err, context.Canceled) {
		f.t.Errorf("the cause is lost: %v", err)
	}
	if runs := f.runs.Load(); runs != 0 {
		f.t.Errorf("%d effects began under a cancelled context", runs)
	}
	f.leavesNothing(call)
}

// lookupsDoNotWait: while an effect is under way, lookups and replays of others
// are answered, and nobody sees what is not committed.
func lookupsDoNotWait[T any](f *fixture[T]) {
	known := f.call("known", "one")
	original := f.fresh(known)
	slow := f.call("slow", "one")
	end := f.park(slow)
	ctx, cancel := context.WithTimeout(f.ctx, patience/2)
	defer cancel()
	started := time.Now()
	for _, h := range []*Harness[T]{f.Harness, f.connect()} {
		seen, _, err := h.Store.Load(ctx, identity(slow))
		if err != nil || seen.Record != nil {
			f.t.Errorf("Load of an action under way = %+v, %v; want no record", seen.Record, err)
		}
		if rec, err := h.Store.Find(ctx, original.Ref); err != nil || rec.Ref != original.Ref {
			f.t.Errorf("Find = %+v, %v", rec, err)
		}
		if found, err := h.Store.List(ctx, record.Record{}, 0); err != nil || len(found) != 1 {
			f.t.Errorf("List = %d records, %v; want one", len(found), err)
		}
		out, err := h.Exec.Execute(ctx, known, f.effect(known))
		if err != nil {
			f.t.Errorf("a replay beside a running effect: %v", err)
		} else {
			f.sameReplay(out, original)
		}
	}
	f.effects(1)
	if waited := time.Since(started); waited > patience/3 {
		f.t.Errorf("the lookups waited %v", waited)
	}
	if a := end(); a.err != nil {
		f.t.Fatal(a.err)
	}
	f.effects(2)
}
