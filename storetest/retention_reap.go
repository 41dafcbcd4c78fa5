package storetest

import (
	"context"
	"fmt"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

// settledAt is a record whose memory ends when it should.
func (f *fixture[T]) settledAt(memory time.Duration) func(*record.Record) {
	return func(r *record.Record) {
		r.Settle(record.Result{Body: []byte("x")}, f.clock.Now(), record.Policy{ReplayFor: memory, RememberFor: memory})
	}
}

// reapFindsStrays: a record that comes into a span after the reaper has seen it is
// seen with it, though its ref was made before.
func reapFindsStrays[T any](f *fixture[T]) {
	old := record.NewRef(epoch.Add(-time.Second))
	idle := f.call("first", "one")
	f.place(idle, f.settledAt(time.Hour))
	f.clock.advance(time.Hour)
	f.forget(10, 1) // the span is empty
	f.forgets(idle)

	stray := f.call("stray", "one")
	f.place(stray, func(r *record.Record) { f.settledAt(time.Minute)(r); r.Ref = old })
	f.clock.advance(upkeep.Idle(epoch).Sub(epoch) - time.Microsecond)
	f.forget(10, 0) // nobody has to look yet
	f.clock.advance(time.Microsecond)
	f.forget(10, 1)
	f.forgets(stray)

	keeps, late := f.call("keeps", "one"), f.call("late", "one")
	f.place(keeps, f.settledAt(10*time.Hour))
	f.clock.advance(2 * time.Minute)
	f.forget(10, 0) // the survey
	f.place(late, func(r *record.Record) { f.settledAt(time.Minute)(r); r.Ref = record.NewRef(epoch) })
	f.clock.advance(10 * time.Hour)
	f.forget(10, 2)
	f.forgets(late)
	f.receipts(0)
}

// reapLooksAgain at what it had to leave: an unfinished record that has been
// settled since, and one whose clock was set back.
func reapLooksAgain[T any](f *fixture[T]) {
	waits, done := f.call("waits", "one"), f.call("done", "one")
	open := f.place(waits, func(r *record.Record) { r.State = record.Unknown })
	f.place(done, f.settledAt(time.Hour))
	f.clock.advance(time.Hour)
	if reaped := f.reap(); reaped.Unfinished != 1 || reaped.Forgotten != 1 {
		f.t.Errorf("the reaper did %+v, want one forgotten and one left", reaped)
	}
	f.forgets(done)
	settled := open
	settled.Settle(record.Result{Body: []byte("x")}, f.clock.Now(), record.Policy{ReplayFor: time.Minute, RememberFor: time.Minute})
	f.swap(open, settled, nil)
	f.clock.advance(2 * time.Hour)
	f.forget(10, 1)
	f.forgets(waits)

	// The clock runs ahead, and is set right again.
	ahead := f.call("ahead", "one")
	now := f.clock.Now()
	f.clock.advance(1000 * time.Hour)
	f.place(ahead, f.settledAt(time.Hour))
	f.clock.advance(2 * time.Minute)
	f.reap()
	f.clock.set(now)
	f.place(f.call("behind", "one"), func(r *record.Record) { f.settledAt(time.Hour)(r) })
	f.clock.advance(2 * time.Minute)
	f.reap()
	f.clock.advance(2 * time.Hour)
	f.forget(10, 1)
	f.forgets(f.call("behind", ""))
	f.receipts(1)
}

// reapLeavesTheYoung until the transaction that made their ref has ended.
func reapLeavesTheYoung[T any](f *fixture[T]) {
	call := f.call("k", "one")
	f.place(call, f.settledAt(time.Second))
	f.clock.advance(upkeep.Settling)
	if done := f.reap(); done.Looked != 0 || done.Forgotten != 0 {
		f.t.Errorf("the reaper did %+v", done)
	}
	f.clock.advance(upkeep.Settling)
	f.forget(10, 1)
	f.forgets(call)
}

// reapOfWhatGrew: more records in a span than a batch may look at are looked at
// in several.
func reapOfWhatGrew[T any](f *fixture[T]) {
	const n = 7
	for i := range n {
		call := f.call(fmt.Sprint("k", i), "one")
		f.place(call, f.settledAt(24*time.Hour))
		f.forgets(call)
	}
	f.clock.advance(time.Hour)
	f.reap()
	if spans := f.tiles(); len(spans) != 1 {
		f.t.Errorf("%d spans of %d records, want one", len(spans), n)
	}
	f.clock.advance(23 * time.Hour)
	for left := n; left > 0; {
		done, err := f.retention().Reap(f.ctx, upkeep.Reap{Limit: 2})
		want := min(left, 2)
		if err != nil || done.Looked != want || done.Forgotten != want || done.More != (left > 2) {
			f.t.Fatalf("with %d left Reap = %+v, %v", left, done, err)
		}
		f.tiles()
		left -= want
	}
	f.receipts(0)
	f.forget(2, 0)
}

// reapUntil: memory that ends later is left alone, and a time to come is now.
func reapUntil[T any](f *fixture[T]) {
	short, long := f.call("short", "one"), f.call("long", "one")
	f.place(short, f.settledAt(time.Hour))
	f.place(long, f.settledAt(2*time.Hour))
	f.clock.advance(100 * time.Hour)
	reapTo := func(until time.Time, want int) {
		f.t.Helper()
		if done := f.reap(upkeep.Reap{Until: until}); done.Forgotten != want || !done.Now.Equal(f.clock.Now()) {
			f.t.Errorf("until %v: %+v, want %d forgotten at %v", until, done, want, f.clock.Now())
		}
	}
	reapTo(epoch.Add(time.Hour-time.Microsecond), 0)
	reapTo(epoch.Add(time.Hour), 1)
	f.forgets(short)
	reapTo(epoch.Add(2*time.Hour-time.Microsecond), 0)
	reapTo(f.clock.Now().Add(1000*time.Hour), 1)
	f.forgets(long)
	young := f.call("young", "one")
	f.place(young, f.settledAt(time.Hour))
	f.clock.advance(time.Hour - time.Microsecond)
	reapTo(f.clock.Now().Add(time.Hour), 0)
}

// reapTellsItsLag: how long ago what it looked at was due.
func reapTellsItsLag[T any](f *fixture[T]) {
	call := f.call("k", "one")
	f.place(call, f.settledAt(2*time.Hour))
	f.forgets(call)
	f.clock.advance(time.Hour)
	if done := f.reap(); done.Lag != 0 || done.Looked != 1 {
		f.t.Errorf("the first look: %+v, want one without a lag", done)
	}
	f.clock.advance(time.Hour + 90*time.Second)
	if done := f.reap(); done.Lag != 90*time.Second || done.Forgotten != 1 {
		f.t.Errorf("90 seconds late: %+v", done)
	}
	if done := f.reap(); done.Looked != 0 || done.Lag != 0 || !done.Now.Equal(f.clock.Now()) {
		f.t.Errorf("with nothing to do: %+v", done)
	}
}

// reapByManyAtOnce: nothing is counted twice and nothing is left.
func reapByManyAtOnce[T any](f *fixture[T]) {
	const n, reapers = 12, 4
	born := epoch.Add(-time.Minute)
	for i := range n {
		call := f.call(timed(born, i), "one")
		f.fresh(call)
		f.forgets(call)
	}
	f.clock.advance(f.contract.RememberFor)
	through := []*Harness[T]{f.Harness, f.connect()}
	var running [reapers]<-chan upkeep.Reaped
	for i := range running {
		running[i] = background(func() upkeep.Reaped {
			done, err := drain(f, through[i%2], upkeep.Reap{Limit: 3})
			if err != nil {
				f.t.Errorf("Reap: %v", err)
			}
			return done
		})
	}
	forgotten := 0
	for _, r := range running {
		forgotten += await(f.t, r, "a reaper").Forgotten
	}
	forgotten += f.reap().Forgotten
	if forgotten != n {
		f.t.Errorf("the reapers count %d forgotten records, want %d", forgotten, n)
	}
	f.receipts(0)
	for i := range n {
		f.refused(f.call(timed(born, i), "one"), "2", record.TooLate)
	}
	f.effects(n)
}

// reapingNothing demands that the store is as it was before a reaper that failed,
// and that the next one finds what is due.
func (f *fixture[T]) reapingNothing(born time.Time, spans []upkeep.Span, n int) {
	f.t.Helper()
	f.receipts(n)
	seen := f.load(f.Harness, f.call("another", ""))
	if !seen.Horizon.Before(born) {
		f.t.Errorf("the horizon is %v and nothing was forgotten", seen.Horizon)
	}
	if now := f.tiles(); fmt.Sprint(now) != fmt.Sprint(spans) {
		f.t.Errorf("the spans are %v, and were %v", now, spans)
	}
	f.forget(10, n)
	f.receipts(0)
}

// dueRecords makes n that are due, and returns when their keys were born.
func (f *fixture[T]) dueRecords(n int) time.Time {
	born := epoch.Add(-time.Minute)
	for i := range n {
		call := f.call(timed(born, i), "one")
		f.fresh(call)
		f.forgets(call)
	}
	f.clock.advance(2 * f.contract.ReplayFor)
	f.reap() // trims
	f.clock.set(epoch.Add(f.contract.RememberFor))
	return born
}

// reapKilled between what it wrote and its COMMIT.
func reapKilled[T any](f *fixture[T]) {
	born := f.dueRecords(2)
	spans := f.tiles()
	hook := func() { panic("killed") }
	f.onForget.Store(&hook)
	func() {
		defer func() {
			if got := recover(); got != "killed" {
				f.t.Errorf("recovered %v, want the panic", got)
			}
		}()
		done, err := f.retention().Reap(f.ctx, upkeep.Reap{})
		f.t.Errorf("Reap = %+v, %v", done, err)
	}()
	f.onForget.Store(nil)
	f.reapingNothing(born, spans, 2)
	f.effects(2)
}

// reapCancelled there: an error says that nothing happened.
func reapCancelled[T any](f *fixture[T]) {
	born := f.dueRecords(2)
	spans := f.tiles()
	ctx, cancel := context.WithCancel(f.ctx)
	defer cancel()
	hook := func() { cancel() }
	f.onForget.Store(&hook)
	done, err := f.retention().Reap(ctx, upkeep.Reap{})
	f.onForget.Store(nil)
	if err == nil {
		if done.Forgotten != 2 {
			f.t.Errorf("Reap = %+v", done)
		}
		f.receipts(0)
		return
	}
	f.reapingNothing(born, spans, 2)
}

// takeoverParkedReaper: a key without a time runs again past its memory, once,
// also while a reaper is about to forget its record.
func takeoverParkedReaper[T any](f *fixture[T]) {
	call := f.call("k", "one")
	original := f.fresh(call)
	f.clock.set(original.RememberUntil)
	f.forgets(call)
	reaper := f.parkReaper()
	through := []*Harness[T]{f.Harness, f.connect()}
	var retries [4]<-chan answer
	for i := range retries {
		retries[i] = f.retry(through[i%2], call)
	}
	reaper.release()
	answers := make([]answer, len(retries))
	for i, r := range retries {
		answers[i] = await(f.t, r, "a retry")
	}
	again := f.oneFresh(answers)
	if again.Ref == original.Ref {
		f.t.Error("the new action has the old ref")
	}
	f.replay(call, again)
	f.effects(2)
	f.receipts(1)
}

// parked is a reaper between what it wrote and its COMMIT.
type parked struct{ release func() upkeep.Reaped }

// parkReaper starts one that has something to do.
func (f *fixture[T]) parkReaper() parked {
	f.t.Helper()
	written, g := make(chan struct{}), f.gate()
	hook := func() {
		f.onForget.Store(nil)
		close(written)
		await(f.t, g.opened, "release of the reaper")
	}
	f.onForget.Store(&hook)
	type result struct {
		done upkeep.Reaped
		err  error
	}
	running := background(func() (r result) {
		r.done, r.err = f.retention().Reap(f.ctx, upkeep.Reap{})
		return r
	})
	await(f.t, written, "the reaper")
	return parked{func() upkeep.Reaped {
		f.t.Helper()
		g.open()
		r := await(f.t, running, "the reaper's end")
		if r.err != nil {
			f.t.Fatalf("Reap: %v", r.err)
		}
		return r.done
	}}
}

// retry executes on its own goroutine; it has begun when retry returns.
func (f *fixture[T]) retry(through *Harness[T], call refrain.Call) <-chan answer {
	begun := make(chan struct{})
	ch := background(func() (a answer) {
		close(begun)
		a.out, a.err = f.execute(through, call, f.effect(call))
		return a
	})
	<-begun
	return ch
}
