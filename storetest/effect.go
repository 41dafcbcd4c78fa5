package storetest

import (
	"context"
	"errors"
	"runtime"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

// leavesNothing demands that a run which ended badly left no effect, no record
// and no lock: the same call runs now, and once.
func (f *fixture[T]) leavesNothing(call refrain.Call) {
	f.t.Helper()
	f.effects(0)
	f.receipts(0)
	retry := background(func() (a answer) { a.out, a.err = f.do(call); return a })
	a := await(f.t, retry, "the retry")
	if a.err != nil || a.out.Replayed {
		f.t.Fatalf("the retry got %+v, %s; want a fresh outcome", a.out, describe(a.err))
	}
	f.replay(call, a.out)
	f.effects(1)
	f.receipts(1)
}

func effectError[T any](f *fixture[T]) {
	call := f.call("k", "one")
	out, err := f.execute(f.Harness, call, f.failsAfterWriting(call))
	refusal := f.isRefusal(out, err, "", record.HandlerFailed)
	if !errors.Is(err, errInjected) || !refusal.Wrote {
		f.t.Errorf("Execute: %v, wrote = %t; want the effect's error after a write", err, refusal.Wrote)
	}
	out, err = f.execute(f.Harness, call, func(context.Context, T) (refrain.Result, error) { return refrain.Result{}, errInjected })
	if refusal := f.isRefusal(out, err, "", record.HandlerFailed); refusal.Wrote {
		f.t.Error("an effect without writes is said to have written")
	}
	f.leavesNothing(call)
}

func effectPanic[T any](f *fixture[T]) {
	call := f.call("k", "one")
	for _, value := range []any{"boom", errInjected, 7} {
		func() {
			defer func() {
				if got := recover(); got != value {
					f.t.Errorf("recovered %v, want the effect's panic %v", got, value)
				}
			}()
			_, _ = f.Exec.Execute(f.ctx, call, func(ctx context.Context, tx T) (refrain.Result, error) {
				_, _ = f.effect(call)(ctx, tx)
				panic(value)
			})
			f.t.Error("Execute returned from a panic")
		}()
	}
	f.leavesNothing(call)
}

func effectGoexit[T any](f *fixture[T]) {
	call := f.call("k", "one")
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_, _ = f.Exec.Execute(f.ctx, call, func(ctx context.Context, tx T) (refrain.Result, error) {
			_, _ = f.effect(call)(ctx, tx)
			runtime.Goexit()
			return refrain.Result{}, nil
		})
		f.t.Error("Execute returned from Goexit")
	}()
	await(f.t, gone, "the goroutine's end")
	f.leavesNothing(call)
}

// effectCancelled: the caller's context ends while the effect runs, which stops
// and is rolled back.
func effectCancelled[T any](f *fixture[T]) {
	call := f.call("k", "one")
	ctx, cancel := context.WithCancel(f.ctx)
	_, err := f.Exec.Execute(ctx, call, func(ctx context.Context, tx T) (refrain.Result, error) {
		if err := f.Write(ctx, tx, f.row(ctx, call)); err != nil {
			return refrain.Result{}, err
		}
		cancel()
		<-ctx.Done()
		return refrain.Result{}, ctx.Err()
	})
	if !errors.Is(err, context.Canceled) || errors.Is(err, record.NotExecuted) {
		f.t.Errorf("Execute: %s, want the cancellation", describe(err))
	}
	f.leavesNothing(call)
}

// effectNested: an effect executes nothing else, and that it tried costs it
// nothing.
func effectNested[T any](f *fixture[T]) {
	f.contract.MaxExecution = patience / 3 // an engine that waits for itself does not wait for ever
	outer, inner := f.call("outer", "one"), f.call("inner", "one")
	out, err := f.execute(f.Harness, outer, func(ctx context.Context, tx T) (refrain.Result, error) {
		for _, call := range []refrain.Call{inner, outer} {
			if _, err := f.Exec.Execute(ctx, call, f.effect(call)); !errors.Is(err, refrain.ErrNested) {
				f.t.Errorf("Execute inside an effect: %s, want ErrNested", describe(err))
			}
		}
		return f.effect(outer)(ctx, tx)
	})
	if err != nil {
		f.t.Fatal(err)
	}
	f.replay(outer, out)
	f.effects(1)
	f.fresh(inner)
}

// effectTxEndsWithIt: a transaction an effect kept is of no use afterwards.
func effectTxEndsWithIt[T any](f *fixture[T]) {
	call := f.call("k", "one")
	var kept T
	if _, err := f.execute(f.Harness, call, func(ctx context.Context, tx T) (refrain.Result, error) {
		kept = tx
		return f.effect(call)(ctx, tx)
	}); err != nil {
		f.t.Fatal(err)
	}
	if err := f.Write(f.ctx, kept, "written too late"); err == nil {
		f.t.Error("a write through the kept transaction succeeded")
	}
	f.effects(1)
}

// effectSwallowsAnError: an effect that ignores a fatal error of its own
// transaction cannot end in half a commit with a receipt.
func effectSwallowsAnError[T any](f *fixture[T]) {
	call := f.call("k", "one")
	out, err := f.execute(f.Harness, call, func(ctx context.Context, tx T) (refrain.Result, error) {
		result, err := f.effect(call)(ctx, tx)
		if failed := f.FailStatement(ctx, tx); failed == nil {
			f.t.Error("FailStatement did not fail")
		}
		return result, err
	})
	if err == nil {
		f.t.Errorf("Execute = %+v; want an error", out)
	}
	f.leavesNothing(call)
}

// effectKnowsItsRecord: the ref an effect can stamp on its rows is the record's.
func effectKnowsItsRecord[T any](f *fixture[T]) {
	call := f.call("k", "one")
	call.Actor = "clerk-7"
	var running refrain.Running
	out, err := f.execute(f.Harness, call, func(ctx context.Context, tx T) (refrain.Result, error) {
		running, _ = refrain.CallFrom(ctx)
		return f.effect(call)(ctx, tx)
	})
	if err != nil {
		f.t.Fatal(err)
	}
	if running.Ref != out.Ref || running.Operation != call.Contract.Operation || running.Scope.String() != call.Scope.String() || running.Attempt != 1 {
		f.t.Errorf("the effect knew %+v, the outcome has ref %s", running, out.Ref)
	}
	rec, err := f.Store.Find(f.ctx, out.Ref)
	if err != nil || rec.Actor != call.Actor || rec.Identity != identity(call) || rec.Format != record.Format {
		f.t.Errorf("Find = %+v, %v", rec, err)
	}
}
