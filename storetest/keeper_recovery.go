package storetest

import (
	"context"
	"errors"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

// register stores the contracts of calls.
func (k *keeper[T]) register(calls ...refrain.Call) {
	k.t.Helper()
	for _, call := range calls {
		if err := k.Keeper.Register(k.ctx, call.Contract); err != nil {
			k.t.Fatalf("Register: %v", err)
		}
	}
}

// allowed makes a call that waits for a person, who lets it run.
func (k *keeper[T]) allowed(call refrain.Call) {
	k.t.Helper()
	if err := upkeep.Allow(k.ctx, k.Keeper, k.underReview(call), "ops", "not seen at the provider"); err != nil {
		k.t.Fatalf("Allow: %v", err)
	}
}

// verified demands how many faults a check of everything finds.
func (k *keeper[T]) verified(when string, faults int, forgotten ...record.Record) {
	k.t.Helper()
	found, err := upkeep.Verify{Store: k.Keeper, Forgotten: func(yield func(record.Record, error) bool) {
		for _, rec := range forgotten {
			if !yield(rec, nil) {
				return
			}
		}
	}}.Run(k.ctx)
	if err != nil {
		k.t.Fatalf("%s: Verify: %v", when, err)
	}
	n := 0
	for _, c := range found.Checks {
		n += c.Faults
	}
	if n != faults {
		k.t.Errorf("%s: %d faults, want %d: %+v", when, n, faults, found.Checks)
	}
}

// fenceWithdrawsAllows: one that is older than the fence may have been spent in
// what was lost.
func fenceWithdrawsAllows[T any](k *keeper[T]) {
	k.setFence(restored(epoch))
	k.clock.advance(time.Second)
	call, south := k.call(timed(epoch, 1), "one"), k.call(timed(epoch, 2), "one")
	south.Scope = refrain.Tenant("south")
	batch := renamed(k.call(timed(epoch, 3), "one"), "orders.batch")
	all := []refrain.Call{call, south, batch}
	for _, c := range all {
		k.allowed(c)
	}
	again := restored(k.clock.Now())
	again.Operation, again.Scope = call.Contract.Operation, call.Scope.String()
	k.setFence(again)
	k.allowed(call) // it is refused once more
	for _, c := range all {
		k.fresh(c)
	}
	for _, c := range all {
		k.refused(renamed(c, "orders.other"), "2", record.TooLate)
	}
	k.effects(len(all))
}

// reviewEndsWithItsRecord: what was refused under a fence that has ended, and then
// ran, is no longer to be decided.
func reviewEndsWithItsRecord[T any](k *keeper[T]) {
	call := k.call("plain", "one")
	k.register(call)
	fence := k.setFence(restored(epoch))
	k.clock.advance(time.Second)
	id := k.underReview(call)
	if err := k.Keeper.EndFence(k.ctx, fence, "ops", "over"); err != nil {
		k.t.Fatalf("EndFence: %v", err)
	}
	k.clock.advance(time.Second)
	original := k.fresh(call)
	k.verified("beside a review that is over", 0)
	if err := upkeep.Done(k.ctx, k.Keeper, id, "/orders/7", "ops", "late"); !errors.Is(err, upkeep.ErrReviewed) {
		k.t.Errorf("Done: %v, want ErrReviewed", err)
	}
	k.unreviewed(id)
	k.replay(call, original)
	k.effects(1)
}

// rebuildAnotherMemory: a record that is past its memory is none, whether or not a
// reaper has been there.
func rebuildAnotherMemory[T any](k *keeper[T]) {
	call := k.call("plain", "one")
	first := k.fresh(call)
	k.forgets(call)
	k.clock.set(first.RememberUntil)
	lost := upkeep.Lost{Identity: identity(call), Effect: "/orders/2", At: k.clock.Now()}
	done, err := upkeep.Rebuild(k.ctx, k.Keeper, func(yield func(upkeep.Lost, error) bool) { yield(lost, nil) }, "ops", "found in the ledger")
	if err != nil || done != (upkeep.Rebuilt{Looked: 1, Made: 1}) {
		k.t.Fatalf("Rebuild = %+v, %v", done, err)
	}
	k.mu.Lock()
	k.placed[k.loaded(k.Harness, call).Ref] = true
	k.mu.Unlock()
	if told := k.refused(call, "5", record.ResultGone); told.Effect != lost.Effect {
		k.t.Errorf("row 5 tells %+v", told)
	}
	k.effects(1)
}

// rekeyOvertakesAllows: one that comes to stand beside a record would let it run
// once more when its memory ends.
func rekeyOvertakesAllows[T any](k *keeper[T]) {
	key := timed(epoch, 1)
	old, place := k.call(key, "one"), renamed(k.call(key, "one"), "orders.place")
	k.register(old, place)
	original := k.fresh(place)
	fence := restored(epoch)
	fence.Operation = old.Contract.Operation
	k.setFence(fence)
	k.clock.advance(time.Second)
	k.allowed(old)
	if _, err := k.Keeper.Rekey(k.ctx, upkeep.Rekey{Operation: "orders.create", To: "orders.place", By: "ops", Reason: "merged"}); err != nil {
		k.t.Fatalf("Rekey: %v", err)
	}
	k.replay(place, original)
	k.clock.set(original.RememberUntil)
	k.forget(10, 1)
	k.forgets(place) // a second effect would still be one too many
	k.refused(place, "2", record.TooLate)
	k.effects(1)
}

// rekeyIntoAnotherReading: what was forgotten while no time was read raised no
// horizon.
func rekeyIntoAnotherReading[T any](k *keeper[T]) {
	key := timed(epoch, 1)
	old, place := k.call(key, "one"), renamed(k.call(key, "one"), "orders.place")
	old.Contract.KeyTime = refrain.KeyTimeNone
	k.register(old, place)
	k.fresh(old)
	k.forgets(old)
	k.clock.advance(25 * time.Hour)
	k.forget(10, 1)
	if _, err := k.Keeper.Rekey(k.ctx, upkeep.Rekey{Operation: "orders.create", To: "orders.place", By: "ops", Reason: "merged"}); err != nil {
		k.t.Fatalf("Rekey: %v", err)
	}
	k.horizon("orders.place", k.clock.Now())
	k.refused(place, "2", record.TooLate)
	k.effects(1)
}

// rekeyCopiesFences under ids that nobody has on a list.
func rekeyCopiesFences[T any](k *keeper[T]) {
	k.fresh(k.call("k", "one"))
	k.clock.advance(time.Second)
	north := restored(epoch)
	north.Scope = refrain.Tenant("north").String()
	k.setFence(north)
	mistake := k.setFence(restored(epoch))
	if err := k.Keeper.VoidFence(k.ctx, mistake, "ops", "a mistake"); err != nil {
		k.t.Fatalf("VoidFence: %v", err)
	}
	if _, err := k.Keeper.Rekey(k.ctx, k.toEurope()); err != nil {
		k.t.Fatalf("Rekey: %v", err)
	}
	fences, err := k.Keeper.Fences(k.ctx)
	if err != nil || len(fences) != 2 {
		k.t.Errorf("Fences = %+v, %v; want the copy beside the other", fences, err)
	}
	for _, f := range fences {
		if f.ID == mistake {
			k.t.Errorf("%+v has the id of one that was voided", f)
		}
	}
}

// verifyKnowsWhatStands: what was archived and then not forgotten, and what a
// fence covers, needs no horizon.
func verifyKnowsWhatStands[T any](k *keeper[T]) {
	call := k.call(timed(epoch, 1), "one")
	original := k.fresh(call)
	k.clock.set(original.RememberUntil)
	var kept []record.Record
	_, err := k.retention().Reap(k.ctx, upkeep.Reap{Archive: func(_ context.Context, recs []record.Record) error {
		kept = append(kept, recs...)
		return errInjected
	}})
	if !errors.Is(err, errInjected) || len(kept) != 1 {
		k.t.Fatalf("Reap: %v, %d archived", err, len(kept))
	}
	k.verified("archived alone", 0, kept...)
	lost := kept[0]
	lost.Ref, lost.Identity.Key = record.RefAt(epoch), timed(epoch.Add(time.Hour), 2)
	k.verified("forgotten without a trace", 1, lost)
	k.setFence(restored(k.clock.Now()))
	k.verified("covered by a fence", 0, lost)
}

// reapSparesTheFuture: a time that has not come would raise the horizon over every
// key that is made until then.
func reapSparesTheFuture[T any](k *keeper[T]) {
	call := k.call("7ZZZZZZZZZZZZZZZZZZZZZZZZZ", "one") // untimed by its shape
	k.fresh(call)
	call.Contract.KeyTime = refrain.KeyTimeULID
	k.register(call)
	k.clock.advance(25 * time.Hour)
	if done := k.reap(); done.Forgotten != 0 || done.Unfinished != 1 {
		k.t.Errorf("the reaper did %+v, want it left", done)
	}
	k.receipts(1)
	k.fresh(k.call(timed(k.clock.Now(), 2), "young"))
	k.effects(2)
}

// reapWithoutAnOperation: a record whose operation has no row and so no horizon.
func reapWithoutAnOperation[T any](f *fixture[T]) {
	call := f.call(timed(epoch, 1), "one")
	rec := f.place(call, func(r *record.Record) { r.Settle(record.Result{Body: []byte("x")}, f.clock.Now(), f.policy()) })
	f.clock.set(rec.RememberUntil)
	f.reap()
	f.refused(call, "2", record.TooLate)
	f.effects(0)
}
