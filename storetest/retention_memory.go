package storetest

import (
	"time"

	"github.com/refrain-dev/refrain/record"
)

// memoryEndsOnTheMicrosecond, whether or not the reaper has been there.
func memoryEndsOnTheMicrosecond[T any](f *fixture[T]) {
	call := f.call(timed(epoch.Add(-time.Minute), 1), "one")
	original := f.fresh(call)
	reaped := func(trimmed, forgotten int) {
		f.t.Helper()
		if done := f.reap(); done.Trimmed != trimmed || done.Forgotten != forgotten {
			f.t.Errorf("at %v the reaper trimmed %d and forgot %d, want %d and %d", f.clock.Now(), done.Trimmed, done.Forgotten, trimmed, forgotten)
		}
	}
	gone := func() {
		f.t.Helper()
		told := f.refused(call, "5", record.ResultGone)
		if told.Ref != original.Ref || told.State != record.Confirmed || told.Effect != original.Effect {
			f.t.Errorf("row 5 tells %+v, want ref, state and effect reference", told)
		}
	}

	f.clock.set(original.ReplayUntil.Add(-time.Microsecond))
	f.replay(call, original)
	reaped(0, 0)
	f.replay(call, original)
	f.clock.set(original.ReplayUntil)
	gone()
	reaped(1, 0)
	gone()
	f.clock.set(original.RememberUntil.Add(-time.Microsecond))
	gone()
	reaped(0, 0)
	gone()
	f.receipts(1)
	f.clock.set(original.RememberUntil)
	f.refused(call, "2", record.TooLate)
	reaped(0, 1)
	f.refused(call, "2", record.TooLate)
	f.receipts(0)
	f.forgets(call)
	f.effects(1)
}

// memoryOfAMinute is the published case: a repeat after 59 s is one, after 60 s a
// key without a time is new and one with a time too late.
func memoryOfAMinute[T any](f *fixture[T]) {
	f.contract.ReplayFor, f.contract.RememberFor = time.Minute, time.Minute
	timely, plain, reaped := f.call(timed(epoch, 1), "one"), f.call("plain", "one"), f.call("reaped", "one")
	first, second := f.fresh(timely), f.fresh(plain)
	f.fresh(reaped)
	f.clock.set(epoch.Add(59 * time.Second))
	f.reap()
	f.replay(timely, first)
	f.replay(plain, second)
	f.clock.set(epoch.Add(60 * time.Second))
	f.refused(timely, "2", record.TooLate)
	f.forgets(plain)
	f.fresh(plain)
	f.clock.set(epoch.Add(2 * time.Minute)) // old enough for the reaper
	f.forget(10, 2)
	f.refused(timely, "2", record.TooLate)
	f.forgets(timely)
	f.forgets(reaped)
	f.fresh(reaped)
	f.effects(5)
}

// memoryOfOneLength: where the result is kept as long as the record, it is never
// taken alone.
func memoryOfOneLength[T any](f *fixture[T]) {
	f.contract.ReplayFor = f.contract.RememberFor
	call := f.call("k", "one")
	original := f.fresh(call)
	f.clock.set(original.RememberUntil.Add(-time.Microsecond))
	if done := f.reap(); done.Trimmed != 0 || done.Forgotten != 0 {
		f.t.Errorf("the reaper did %+v", done)
	}
	f.replay(call, original)
	f.clock.set(original.RememberUntil)
	f.forget(10, 1)
	f.forgets(call)
}

// memoryAsItWasStored: when the contract is lengthened or shortened on a live
// store, what was promised before stands.
func memoryAsItWasStored[T any](f *fixture[T]) {
	before, shorter, longer := f.call("before", "one"), f.call("shorter", "one"), f.call("longer", "one")
	shorter.Contract.ReplayFor, shorter.Contract.RememberFor = time.Minute, time.Hour
	longer.Contract.ReplayFor, longer.Contract.RememberFor = 2*time.Hour, 48*time.Hour
	f.fresh(before)
	f.fresh(shorter)
	kept := f.fresh(longer)

	f.clock.advance(time.Hour)
	if done := f.reap(); done.Trimmed != 1 || done.Forgotten != 1 {
		f.t.Errorf("after an hour the reaper did %+v, want one trimmed and one forgotten", done)
	}
	f.forgets(shorter)
	under := before
	under.Contract = shorter.Contract
	f.refused(under, "5", record.ResultGone)
	under = longer
	under.Contract = shorter.Contract
	f.replay(under, kept)

	f.clock.set(epoch.Add(24*time.Hour - time.Microsecond))
	f.refused(before, "5", record.ResultGone)
	f.forget(10, 0)
	f.clock.set(epoch.Add(24 * time.Hour))
	f.forget(10, 1)
	f.forgets(before)
	under.Contract = before.Contract
	f.refused(under, "5", record.ResultGone)
	f.clock.set(epoch.Add(48 * time.Hour))
	f.forget(10, 1)
	f.forgets(longer)
	f.effects(3)
}

// trimmedStaysTrimmed: a clock that is set back brings nothing of a result to
// light that was taken away.
func trimmedStaysTrimmed[T any](f *fixture[T]) {
	call := f.call("k", "one")
	original := f.fresh(call)
	f.clock.set(original.ReplayUntil)
	f.reap()
	f.clock.advance(-time.Hour)
	for _, h := range []*Harness[T]{f.Harness, f.connect()} {
		out, err := f.execute(h, call, f.effect(call))
		told := f.isRefusal(out, err, "5", record.ResultGone)
		if told.Ref != original.Ref || told.Effect != original.Effect {
			f.t.Errorf("row 5 tells %+v", told)
		}
	}
	f.refused(f.call("k", "two"), "4", record.KeyReused)
	rec, err := f.Store.Find(f.ctx, original.Ref)
	if err != nil || rec.Result.Kept() || len(rec.Result.Body) != 0 || len(rec.Result.Header) != 0 ||
		rec.Result.Effect != original.Effect || rec.State != record.Confirmed || rec.Version != 1 {
		f.t.Errorf("Find = %+v, %v; want the tombstone of it", rec, err)
	}
	f.effects(1)
}

// forgottenStaysRefused: no clock brings a key with a time back to life, be it set
// back or that of another server which lags behind.
func forgottenStaysRefused[T any](f *fixture[T]) {
	born := epoch.Add(-time.Minute)
	call := f.call(timed(born, 1), "one")
	original := f.fresh(call)
	f.clock.set(original.RememberUntil)
	f.forget(10, 1)
	f.forgets(call)
	other := f.connect()
	for _, back := range []time.Duration{0, time.Microsecond, time.Hour, 24 * time.Hour} {
		f.clock.set(original.RememberUntil.Add(-back))
		for _, h := range []*Harness[T]{f.Harness, other} {
			out, err := f.execute(h, call, f.effect(call))
			f.isRefusal(out, err, "2", record.TooLate)
		}
		f.forget(10, 0)
	}
	f.fresh(f.call(timed(epoch, 2), "younger"))
	f.effects(2)
}

// clientClocksApart by five minutes from the store's, either way: what was
// forgotten is refused all the same, and new keys run.
func clientClocksApart[T any](f *fixture[T]) {
	skew := f.policy().Skew
	ahead, behind := f.call(timed(epoch.Add(skew), 1), "ahead"), f.call(timed(epoch.Add(-skew), 2), "behind")
	f.fresh(ahead)
	f.fresh(behind)
	f.refused(f.call(timed(epoch.Add(skew+time.Millisecond), 3), "too far ahead"), "2b", record.KeyFromFuture)
	f.clock.advance(f.contract.RememberFor)
	f.forget(10, 2)
	f.forgets(ahead)
	f.forgets(behind)
	now := f.clock.Now()
	for _, at := range []time.Time{now, now.Add(-2 * skew), epoch, now.Add(24 * time.Hour)} {
		f.clock.set(at)
		f.refused(ahead, "2", record.TooLate)
		f.refused(behind, "2", record.TooLate)
	}
	f.clock.set(now)
	f.fresh(f.call(timed(now.Add(skew), 4), "ahead"))
	f.fresh(f.call(timed(now.Add(-skew), 5), "behind"))
	f.effects(4)
}
