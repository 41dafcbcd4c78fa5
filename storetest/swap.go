package storetest

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/refrain-dev/refrain/record"
)

// swap writes next in place of old and demands how it ended.
func (f *fixture[T]) swap(old, next record.Record, want error) record.Record {
	f.t.Helper()
	f.mu.Lock()
	f.placed[next.Ref] = true
	f.mu.Unlock()
	rec, err := f.Store.Swap(f.ctx, old, next)
	if !errors.Is(err, want) {
		f.t.Fatalf("Swap: %v, want %v", err, want)
	}
	return rec
}

// swapCompares: only the record that was loaded is replaced; a zero old means
// that none may exist.
func swapCompares[T any](f *fixture[T]) {
	call := f.call("k", "one")
	first := f.place(call, func(r *record.Record) {
		r.State, r.Lease, r.Attempt, r.Actor = record.Submitted, epoch.Add(time.Minute), 3, "clerk-7"
	})
	loaded, _, err := f.Store.Load(f.ctx, identity(call))
	if err != nil || loaded.Record == nil {
		f.t.Fatalf("Load = %+v, %v", loaded, err)
	}
	if got := *loaded.Record; got.Ref != first.Ref || got.Version != first.Version || got.State != record.Submitted ||
		!got.Lease.Equal(first.Lease) || got.Attempt != 3 || got.Actor != "clerk-7" || got.Print != first.Print || !got.Final.IsZero() {
		f.t.Errorf("loaded %+v, wrote %+v", got, first)
	}
	f.swap(record.Record{}, first, record.ErrSwapped)

	unknown := first
	unknown.State = record.Unknown
	second := f.swap(first, unknown, nil)
	if second.Version <= first.Version {
		f.t.Errorf("versions %d, then %d", first.Version, second.Version)
	}
	f.swap(first, unknown, record.ErrSwapped)

	settled := second
	settled.Settle(record.Result{Status: 201, Body: []byte("late answer")}, f.clock.Now(), f.policy())
	f.swap(second, settled, nil)
	f.swap(second, unknown, record.ErrSwapped)
	out, err := f.do(call)
	if err != nil || !out.Replayed || string(out.Body) != "late answer" || out.Ref != first.Ref {
		f.t.Errorf("Execute = %+v, %v; want a replay of what Swap settled", out, err)
	}

	nowhere := f.call("nowhere", "one")
	claim, err := nowhere.Claim()
	if err != nil {
		f.t.Fatal(err)
	}
	absent := *claim.Begin(f.clock.Now())
	f.swap(absent, absent, record.ErrSwapped)
	f.receipts(1)
	f.effects(0)
}

// swapRefusesAStaleOwner: after a purge and a new insertion the number of the
// version is the same again; the old owner's write must not land on the new
// record.
func swapRefusesAStaleOwner[T any](f *fixture[T]) {
	call := f.call("k", "one")
	settle := func(r *record.Record) { r.Settle(record.Result{Body: []byte("old")}, f.clock.Now(), f.policy()) }
	stale := f.place(call, settle)
	f.clock.set(stale.RememberUntil)
	f.forget(1, 1)
	f.forgets(call)
	current := f.place(call, func(r *record.Record) { r.Settle(record.Result{Body: []byte("new")}, f.clock.Now(), f.policy()) })
	spoiled := stale
	spoiled.Result.Body = []byte("stale")
	f.swap(stale, spoiled, record.ErrSwapped)
	mixed := stale
	mixed.Version = current.Version
	f.swap(mixed, spoiled, record.ErrSwapped)
	rec, err := f.Store.Find(f.ctx, current.Ref)
	if err != nil || string(rec.Result.Body) != "new" {
		f.t.Errorf("Find = %+v, %v; want the new record untouched", rec, err)
	}
}

// swapRace: of many that replace one record, one wins.
func swapRace[T any](f *fixture[T]) {
	call := f.call("k", "one")
	first := f.place(call, func(*record.Record) {})
	through := [2]*Harness[T]{f.Harness, f.connect()}
	const n = 16
	errs := make([]error, n)
	var done sync.WaitGroup
	for i := range n {
		done.Go(func() {
			next := first
			next.Actor = fmt.Sprint("owner ", i)
			_, errs[i] = through[i%2].Store.Swap(f.ctx, first, next)
		})
	}
	done.Wait()
	winner := ""
	for i, err := range errs {
		switch {
		case err == nil && winner == "":
			winner = fmt.Sprint("owner ", i)
		case err == nil:
			f.t.Errorf("owner %d won as well as %s", i, winner)
		case !errors.Is(err, record.ErrSwapped):
			f.t.Errorf("owner %d: %v, want ErrSwapped", i, err)
		}
	}
	rec, err := f.Store.Find(f.ctx, first.Ref)
	if err != nil || rec.Actor != winner || winner == "" {
		f.t.Errorf("the record is %q's, %v; the winner was %q", rec.Actor, err, winner)
	}
}
