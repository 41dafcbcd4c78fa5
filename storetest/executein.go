package storetest

import (
	"context"
	"errors"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

// begin starts a caller's transaction that is rolled back if the property ends
// early.
func (f *fixture[T]) begin() (tx T, end func(commit bool)) {
	f.t.Helper()
	tx, finish, err := f.Begin(f.ctx)
	if err != nil {
		f.t.Fatalf("Begin: %v", err)
	}
	ended := false
	f.t.Cleanup(func() {
		if !ended {
			_ = finish(false)
		}
	})
	return tx, func(commit bool) {
		f.t.Helper()
		ended = true
		if err := finish(commit); err != nil {
			f.t.Fatalf("ending the caller's transaction: %v", err)
		}
	}
}

// callersRow is a business row of the caller's own, no effect of ours.
const callersRow = "caller"

func executeInIsProvisional[T any](f *fixture[T]) {
	call := f.call("k", "one")
	tx, end := f.begin()
	out, err := f.ExecuteIn(f.ctx, tx, call, f.effect(call))
	if err != nil || out.Replayed || out.State != record.Confirmed {
		f.t.Fatalf("ExecuteIn = %+v, %v", out, err)
	}
	again, err := f.ExecuteIn(f.ctx, tx, call, f.effect(call))
	if err != nil {
		f.t.Fatalf("ExecuteIn again in the same transaction: %v", err)
	}
	f.sameReplay(again, out)
	other := f.call("k", "two")
	again, err = f.ExecuteIn(f.ctx, tx, other, f.effect(other))
	f.isRefusal(again, err, "4", record.KeyReused)

	seen, _, err := f.connect().Store.Load(f.ctx, identity(call))
	if err != nil || seen.Record != nil {
		f.t.Errorf("before the caller's COMMIT others see %+v, %v", seen.Record, err)
	}
	f.effects(0)
	f.receipts(0)
	end(true)
	f.note(out, nil)
	f.effects(1)
	f.replay(call, out)
}

func executeInRollsBackWithItsCaller[T any](f *fixture[T]) {
	call := f.call("k", "one")
	tx, end := f.begin()
	if err := f.Write(f.ctx, tx, callersRow); err != nil {
		f.t.Fatal(err)
	}
	if _, err := f.ExecuteIn(f.ctx, tx, call, f.effect(call)); err != nil {
		f.t.Fatal(err)
	}
	end(false)
	f.leavesNothing(call)
}

// executeInTakesBackAFailedEffect: the effect's writes go, the caller's stay, and
// so does the caller's transaction.
func executeInTakesBackAFailedEffect[T any](f *fixture[T]) {
	failing, rejecting := f.call("fails", "one"), f.call("rejects", "one")
	tx, end := f.begin()
	known := f.call("known", "one")
	if out, err := f.ExecuteIn(f.ctx, tx, known, f.effect(known)); err != nil {
		f.t.Fatalf("ExecuteIn = %+v, %v", out, err)
	}
	out, err := f.ExecuteIn(f.ctx, tx, failing, f.failsAfterWriting(failing))
	refusal := f.isRefusal(out, err, "", record.HandlerFailed)
	if !errors.Is(err, errInjected) || !refusal.Wrote {
		f.t.Errorf("ExecuteIn: %v, wrote = %t", err, refusal.Wrote)
	}
	rejected, err := f.ExecuteIn(f.ctx, tx, rejecting, f.rejects(rejecting))
	if err != nil || rejected.State != record.Rejected {
		f.t.Fatalf("ExecuteIn = %+v, %v", rejected, err)
	}
	func() {
		panicking := f.call("panics", "one")
		defer func() {
			if recover() == nil {
				f.t.Error("ExecuteIn swallowed a panic")
			}
		}()
		_, _ = f.ExecuteIn(f.ctx, tx, panicking, func(ctx context.Context, tx T) (refrain.Result, error) {
			_, _ = f.effect(panicking)(ctx, tx)
			panic("boom")
		})
	}()
	end(true)
	f.effects(1)
	f.receipts(2)
	f.replay(rejecting, rejected)
	f.fresh(failing)
	f.fresh(f.call("panics", "one"))
}

// executeInDoesNotWait: a held identity is told at once, whatever the contract
// would wait.
func executeInDoesNotWait[T any](f *fixture[T]) {
	call := f.call("k", "one")
	call.Contract.Wait = time.Hour
	f.place(call, func(r *record.Record) { r.Lease = epoch.Add(time.Minute) })
	tx, end := f.begin()
	told := background(func() (a answer) {
		a.out, a.err = f.ExecuteIn(f.ctx, tx, call, f.effect(call))
		return a
	})
	a := await(f.t, told, "ExecuteIn of a held identity")
	f.isRefusal(a.out, a.err, "6", record.InProgress)
	free := f.call("free", "one")
	out, err := f.ExecuteIn(f.ctx, tx, free, f.effect(free))
	if err != nil {
		f.t.Fatalf("the transaction is of no more use: %v", err)
	}
	end(true)
	f.replay(free, out)
	f.effects(1)
}

func executeInIsNotNested[T any](f *fixture[T]) {
	outer, inner := f.call("outer", "one"), f.call("inner", "one")
	out, err := f.execute(f.Harness, outer, func(ctx context.Context, tx T) (refrain.Result, error) {
		if _, err := f.ExecuteIn(ctx, tx, inner, f.effect(inner)); !errors.Is(err, refrain.ErrNested) {
			f.t.Errorf("ExecuteIn inside an effect: %s, want ErrNested", describe(err))
		}
		return f.effect(outer)(ctx, tx)
	})
	if err != nil {
		f.t.Fatal(err)
	}
	f.replay(outer, out)
	f.effects(1)
}
