package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

// reviewsAreListed by their ids, page by page, and filtered.
func reviewsAreListed[T any](f *fixture[T]) {
	f.setFence(restored(epoch))
	f.clock.advance(time.Second)
	var calls []refrain.Call
	for i := range 3 {
		calls = append(calls, f.call(fmt.Sprint("k", i), "one"))
	}
	other := renamed(f.call("k1", "one"), "orders.batch")
	elsewhere := f.call("k1", "one")
	elsewhere.Scope = refrain.Tenant("south")
	calls = append(calls, other, elsewhere)
	ids := func(calls ...refrain.Call) []string {
		var all []string
		for _, c := range calls {
			all = append(all, upkeep.Review{Identity: identity(c)}.ID())
		}
		slices.Sort(all)
		return all
	}
	for _, c := range calls {
		f.refused(c, "2", record.TooLate)
	}
	again := f.clock.Now().Add(time.Minute)
	f.clock.set(again)
	changed := calls[0]
	changed.Input = []byte("two") // a review keeps what came first
	f.refused(changed, "2", record.TooLate)

	all, north := ids(calls...), refrain.Tenant("north").String()
	for name, tt := range map[string]struct {
		query upkeep.ReviewQuery
		want  []string
	}{
		"all":          {upkeep.ReviewQuery{}, all},
		"one":          {upkeep.ReviewQuery{ID: all[3]}, all[3:4]},
		"none":         {upkeep.ReviewQuery{ID: strings.Repeat("0", 64)}, nil},
		"no id":        {upkeep.ReviewQuery{ID: "k1"}, nil},
		"a scope":      {upkeep.ReviewQuery{Scope: north}, ids(calls[:4]...)},
		"an operation": {upkeep.ReviewQuery{Operation: "orders.batch"}, ids(other)},
		"both":         {upkeep.ReviewQuery{Operation: f.contract.Operation, Scope: north}, ids(calls[:3]...)},
		"first":        {upkeep.ReviewQuery{Limit: 2}, all[:2]},
		"next":         {upkeep.ReviewQuery{Limit: 2, After: all[1]}, all[2:4]},
		"last":         {upkeep.ReviewQuery{After: all[4]}, nil},
		"boundless":    {upkeep.ReviewQuery{Limit: 1 << 30}, all},
	} {
		got, err := f.retentionOf(f.connect()).Reviews(f.ctx, tt.query)
		if err != nil || !slices.Equal(reviewIDs(got), tt.want) {
			f.t.Errorf("%s: %v, %v; want %v", name, reviewIDs(got), err, tt.want)
		}
	}
	r := f.review(f.Harness, calls[0])
	if want := f.claimOf(calls[0]).Request.Print; r.Identity != identity(calls[0]) || r.Count != 2 || r.Print != want ||
		!r.First.Equal(epoch.Add(time.Second)) || !r.Last.Equal(again) {
		f.t.Errorf("under review is %+v, want two refusals at %v and %v of %+v", r, epoch.Add(time.Second), again, want)
	}
	f.effects(0)
}

func reviewIDs(reviews []upkeep.Review) []string {
	var all []string
	for _, r := range reviews {
		all = append(all, r.ID())
	}
	return all
}

// review returns that of a call.
func (f *fixture[T]) review(through *Harness[T], call refrain.Call) upkeep.Review {
	f.t.Helper()
	id := upkeep.Review{Identity: identity(call)}.ID()
	found, err := f.retentionOf(through).Reviews(f.ctx, upkeep.ReviewQuery{ID: id})
	if err != nil || len(found) != 1 {
		f.t.Fatalf("Reviews = %+v, %v; want that of %q", found, err, call.Key)
	}
	return found[0]
}

// underReview makes a call that waits for a person, and returns its review's id.
func (k *keeper[T]) underReview(call refrain.Call) string {
	k.t.Helper()
	k.refused(call, "2", record.TooLate)
	return k.review(k.Harness, call).ID()
}

func (k *keeper[T]) unreviewed(id string) {
	k.t.Helper()
	if found, err := k.Keeper.Reviews(k.ctx, upkeep.ReviewQuery{ID: id}); err != nil || len(found) != 0 {
		k.t.Errorf("still under review: %+v, %v", found, err)
	}
}

// reviewAllow lets the key execute once.
func reviewAllow[T any](k *keeper[T]) {
	k.setFence(restored(epoch))
	k.clock.advance(time.Second)
	for _, call := range []refrain.Call{k.call(timed(epoch, 1), "one"), k.call("plain", "one")} {
		id := k.underReview(call)
		if err := upkeep.Allow(k.ctx, k.Keeper, id, "ops", "not seen at the provider"); err != nil {
			k.t.Fatalf("Allow: %v", err)
		}
		k.unreviewed(id)
		original := k.fresh(call)
		k.replay(call, original)
		if k.load(k.Harness, call).Allowed {
			k.t.Error("the allow is not spent")
		}
		if err := upkeep.Allow(k.ctx, k.Keeper, id, "ops", "again"); !errors.Is(err, record.ErrNotFound) {
			k.t.Errorf("Allow again: %v, want ErrNotFound", err)
		}
	}
	k.actsOf("fence", "allow", "allow")
	k.effects(2)
}

// actsOf demands what was done, where it can be read.
func (k *keeper[T]) actsOf(want ...string) {
	k.t.Helper()
	if k.Audits == nil {
		return
	}
	lines, err := k.Audits(k.ctx)
	var got []string
	for _, line := range lines {
		got = append(got, line.Action)
		if line.By == "" || line.Reason == "" {
			k.t.Errorf("a line of audit without a name or a reason: %+v", line)
		}
	}
	if err != nil || !slices.Equal(got, want) {
		k.t.Errorf("done was %v, %v; want %v", got, err, want)
	}
}

// lastActOn demands the record that the last line of audit is about.
func (k *keeper[T]) lastActOn(ref string) {
	k.t.Helper()
	if k.Audits == nil {
		return
	}
	lines, err := k.Audits(k.ctx)
	if err != nil || len(lines) == 0 || lines[len(lines)-1].Ref != ref {
		k.t.Errorf("done was %+v, %v; want the last on %s", lines, err, ref)
	}
}

// reviewDone: a repeat is told that it was done before, and where.
func reviewDone[T any](k *keeper[T]) {
	if err := k.Register(k.ctx, k.contract); err != nil {
		k.t.Fatalf("Register: %v", err)
	}
	k.setFence(restored(epoch))
	k.clock.advance(time.Second)
	call := k.call(timed(epoch, 1), "one")
	id := k.underReview(call)
	if err := upkeep.Done(k.ctx, k.Keeper, id, "/orders/7", "ops", "seen in the ledger"); err != nil {
		k.t.Fatalf("Done: %v", err)
	}
	k.unreviewed(id)
	rec := k.loaded(k.Harness, call)
	k.mu.Lock()
	k.placed[rec.Ref] = true
	k.mu.Unlock()
	for _, h := range []*Harness[T]{k.Harness, k.connect()} {
		out, err := k.execute(h, call, k.effect(call))
		if told := k.isRefusal(out, err, "5", record.ResultGone); told.Effect != "/orders/7" || told.Ref != rec.Ref || told.State != record.Confirmed {
			k.t.Errorf("row 5 tells %+v", told)
		}
	}
	other := call
	other.Input = []byte("two")
	k.refused(other, "4", record.KeyReused)
	k.actsOf("fence", "done")
	k.lastActOn(rec.Ref)
	if !rec.RememberUntil.Equal(k.clock.Now().Add(k.contract.RememberFor)) {
		k.t.Errorf("it is remembered until %v", rec.RememberUntil)
	}
	k.clock.set(rec.RememberUntil)
	k.forget(10, 1)
	k.refused(call, "2", record.TooLate)
	k.effects(0)
}

// reviewIsSettledOnce: what has come or was decided meanwhile stands.
func reviewIsSettledOnce[T any](k *keeper[T]) {
	if err := k.Register(k.ctx, k.contract); err != nil {
		k.t.Fatalf("Register: %v", err)
	}
	fence := k.setFence(restored(epoch))
	k.clock.advance(time.Second)
	known, allowed := k.call("known", "one"), k.call("allowed", "one")
	ids := []string{k.underReview(known), k.underReview(allowed)}
	if err := k.Keeper.EndFence(k.ctx, fence, "ops", "over"); err != nil {
		k.t.Fatalf("EndFence: %v", err)
	}
	k.fresh(known)
	k.change(k.Harness, allowed, func(record.Seen, time.Time) record.Edit {
		return record.Edit{GrantAllow: "by hand"}
	})
	for i, id := range ids {
		if err := upkeep.Allow(k.ctx, k.Keeper, id, "ops", "late"); !errors.Is(err, upkeep.ErrReviewed) {
			k.t.Errorf("%d: Allow: %v, want ErrReviewed", i, err)
		}
		err := upkeep.Done(k.ctx, k.Keeper, id, "/orders/7", "ops", "late")
		if gone := i == 0 && errors.Is(err, record.ErrNotFound); !gone && !errors.Is(err, upkeep.ErrReviewed) { // the record has ended it
			k.t.Errorf("%d: Done: %v, want ErrReviewed", i, err)
		}
		if err := upkeep.Allow(k.ctx, k.Keeper, id, "", "late"); err == nil || errors.Is(err, upkeep.ErrReviewed) {
			k.t.Errorf("%d: Allow by nobody: %v", i, err)
		}
	}
	for _, id := range []string{strings.Repeat("0", 64), "known", ""} {
		if err := upkeep.Allow(k.ctx, k.Keeper, id, "ops", "none"); !errors.Is(err, record.ErrNotFound) {
			k.t.Errorf("Allow(%q): %v, want ErrNotFound", id, err)
		}
	}
	k.effects(1)
}

// reviewRace: of two who settle one review, one does.
func reviewRace[T any](k *keeper[T]) {
	if err := k.Register(k.ctx, k.contract); err != nil {
		k.t.Fatalf("Register: %v", err)
	}
	k.setFence(restored(epoch))
	k.clock.advance(time.Second)
	for i := range 5 {
		call := k.call(fmt.Sprint("k", i), "one")
		id := k.underReview(call)
		allow := background(func() error { return upkeep.Allow(k.ctx, k.Keeper, id, "ada", "lost") })
		done := background(func() error { return upkeep.Done(k.ctx, k.Keeper, id, "/orders/7", "eve", "seen") })
		allowed, settled := await(k.t, allow, "Allow"), await(k.t, done, "Done")
		for _, err := range []error{allowed, settled} {
			if err != nil && !errors.Is(err, upkeep.ErrReviewed) && !errors.Is(err, record.ErrNotFound) {
				k.t.Errorf("%v", err)
			}
		}
		seen := k.load(k.Harness, call)
		if (allowed == nil) == (settled == nil) || seen.Allowed != (allowed == nil) || (seen.Record != nil) != (settled == nil) {
			k.t.Errorf("Allow: %v, Done: %v, and the store has %+v", allowed, settled, seen)
		}
	}
	k.effects(0)
}
