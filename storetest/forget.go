package storetest

import (
	"fmt"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

// horizonAfterForget: what was forgotten is refused by its birth, and so is
// every older key of the operation, for ever.
func horizonAfterForget[T any](f *fixture[T]) {
	born := epoch.Add(-10 * time.Minute)
	call := f.call(timed(born, 1), "one")
	original := f.fresh(call)
	f.clock.set(original.RememberUntil.Add(-time.Microsecond))
	f.forget(10, 0)
	f.clock.set(original.RememberUntil)
	f.forget(10, 1)
	f.forgets(call) // its record is gone; a second effect would still be one too many
	f.receipts(0)

	for n, key := range []string{call.Key, timed(born, 2), timed(born.Add(-time.Hour), 3)} {
		late := f.refused(f.call(key, "one"), "2", record.TooLate)
		if late.Born.After(born) {
			f.t.Errorf("key %d: born %v", n, late.Born)
		}
	}
	f.effects(1)
	f.fresh(f.call(timed(born.Add(time.Millisecond), 4), "younger than the horizon"))
	f.fresh(f.call("untimed", "no birth to compare"))
	elsewhere := f.call(timed(born, 5), "another operation")
	elsewhere.Contract.Operation = "orders.batch"
	f.fresh(elsewhere)
	f.effects(4)

	// It only rises: forgetting younger keys covers the older ones, not the reverse.
	f.clock.advance(48 * time.Hour)
	f.forget(10, 3)
	for _, key := range []string{timed(born, 2), timed(born.Add(time.Millisecond), 4), timed(born.Add(time.Millisecond), 6)} {
		f.refused(f.call(key, "one"), "2", record.TooLate)
	}
	f.forgets(f.call(timed(born.Add(time.Millisecond), 4), ""))
	f.forgets(f.call("untimed", ""))
	f.forgets(elsewhere)
	f.effects(4)
}

// horizonOnlyRises: an older key that is forgotten later does not lower it.
func horizonOnlyRises[T any](f *fixture[T]) {
	young, old := epoch.Add(-time.Minute), epoch.Add(-time.Hour)
	first, second := f.call(timed(young, 1), "one"), f.call(timed(old, 2), "one")
	f.fresh(first)
	f.clock.advance(time.Hour)
	f.fresh(second)
	f.clock.set(epoch.Add(f.contract.RememberFor))
	f.forget(10, 1)
	f.clock.advance(time.Hour)
	f.forget(10, 1)
	f.forgets(first)
	f.forgets(second)
	for _, key := range []string{first.Key, second.Key, timed(young, 3)} {
		f.refused(f.call(key, "one"), "2", record.TooLate)
	}
	f.effects(2)
}

// horizonFollowsTheContract: the birth is what the contract reads in the key.
func horizonFollowsTheContract[T any](f *fixture[T]) {
	hourAgo := epoch.Add(-time.Hour)
	under := func(operation string, kt refrain.KeyTime, key string) refrain.Call {
		call := f.call(key, "one")
		call.Contract.Operation, call.Contract.KeyTime = operation, kt
		return call
	}
	calls := map[string]refrain.Call{
		"ulid":    under("a", refrain.KeyTimeULID, ulid(hourAgo)),
		"shape":   under("b", refrain.KeyTimeByShape, ulid(hourAgo)),
		"none":    under("c", refrain.KeyTimeNone, timed(hourAgo, 1)),
		"untimed": under("d", refrain.KeyTimeByShape, "plain"),
	}
	for _, call := range calls {
		f.fresh(call)
		f.forgets(call)
	}
	f.clock.advance(25 * time.Hour)
	f.forget(10, len(calls))
	f.refused(calls["ulid"], "2", record.TooLate)
	f.effects(len(calls))
	f.fresh(calls["shape"])
	f.fresh(calls["none"])
	f.fresh(calls["untimed"])
	// A reaper that meets only untimed keys leaves the horizon alone.
	for _, operation := range []string{"b", "c", "d"} {
		f.fresh(under(operation, refrain.KeyTimeByShape, timed(epoch.Add(-1000*time.Hour), 9)))
	}
}

func forgetIsBounded[T any](f *fixture[T]) {
	const n = 7
	for i := range n {
		call := f.call(fmt.Sprint("k", i), "one")
		f.fresh(call)
		f.forgets(call)
	}
	f.clock.advance(24 * time.Hour)
	young := f.call("young", "one")
	f.fresh(young)
	for _, want := range []int{3, 3, 1, 0} {
		done, err := f.retention().Reap(f.ctx, upkeep.Reap{Limit: 3})
		if err != nil || done.Forgotten != want || done.Looked > 3 || done.More != (want == 3) {
			f.t.Fatalf("Reap = %+v, %v; want %d forgotten of at most 3", done, err, want)
		}
	}
	f.receipts(1)
	f.effects(n + 1)
}

// forgetSparesUnfinished: an unfinished, unknown or disputed record never ends
// by age, however often and late the reaper comes.
func forgetSparesUnfinished[T any](f *fixture[T]) {
	settled := func(r *record.Record) { r.Settle(record.Result{Body: []byte("x")}, f.clock.Now(), f.policy()) }
	open := map[string]func(*record.Record){
		"accepted":  func(r *record.Record) { r.State = record.Accepted },
		"submitted": func(r *record.Record) { r.Lease = f.clock.Now().Add(time.Second) },
		"unknown":   func(r *record.Record) { r.State = record.Unknown },
		"disputed":  func(r *record.Record) { settled(r); r.Disputed = true },
	}
	for key, change := range open {
		f.place(f.call(key, "one"), change)
	}
	f.place(f.call("done", "one"), settled)
	f.forgets(f.call("done", ""))
	f.clock.set(epoch.AddDate(50, 0, 0))
	f.forget(100, 1)
	f.forget(100, 0)
	f.receipts(len(open))
	for key := range open {
		call := f.call(key, "one")
		call.Contract.Wait = -1
		if out, err := f.do(call); err == nil {
			f.t.Errorf("%s: after fifty years Execute = %+v", key, out)
		}
	}
	f.effects(0)
}

func (f *fixture[T]) policy() record.Policy {
	claim, err := f.call("any", "").Claim()
	if err != nil {
		f.t.Fatal(err)
	}
	return claim.Policy
}

// forgetParkedBeforeCommit: with the reaper between its deletion and its COMMIT a
// lookup sees the record, and after the COMMIT the horizon. What it must never
// see is neither: no record under the old horizon.
func forgetParkedBeforeCommit[T any](f *fixture[T]) {
	born := epoch.Add(-time.Minute)
	call := f.call(timed(born, 1), "one")
	original := f.fresh(call)
	f.clock.set(original.RememberUntil)
	f.forgets(call)

	deleted, release := make(chan struct{}), f.gate()
	hook := func() { close(deleted); await(f.t, release.opened, "release of the reaper") }
	f.onForget.Store(&hook)
	reaper := background(func() error { _, err := f.retention().Reap(f.ctx, upkeep.Reap{}); return err })
	await(f.t, deleted, "the reaper")

	covered := func(when string, h *Harness[T]) {
		f.t.Helper()
		seen, _, err := h.Store.Load(f.ctx, identity(call))
		if err != nil {
			f.t.Errorf("%s: Load: %v", when, err)
		}
		if seen.Record == nil && seen.Horizon.Before(born) {
			f.t.Errorf("%s: neither a record nor a horizon that covers it: %+v", when, seen)
		}
	}
	other := f.connect()
	covered("before the reaper's COMMIT", f.Harness)
	covered("before the reaper's COMMIT, on another connection", other)
	const n = 8
	var retries [n]<-chan answer
	for i := range retries {
		h := []*Harness[T]{f.Harness, other}[i%2]
		retries[i] = background(func() (a answer) {
			a.out, a.err = f.execute(h, call, f.effect(call))
			return a
		})
	}
	release.open()
	if err := await(f.t, reaper, "Reap"); err != nil {
		f.t.Fatalf("Reap: %v", err)
	}
	covered("after the reaper's COMMIT", f.Harness)
	covered("after the reaper's COMMIT, on another connection", other)
	for _, retry := range retries {
		a := await(f.t, retry, "a retry")
		f.isRefusal(a.out, a.err, "2", record.TooLate)
	}
	f.refused(call, "2", record.TooLate)
	f.receipts(0)
	f.effects(1)
}
