package storetest

import (
	"context"
	"errors"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

// outlasts writes, waits until its time is over and ends as then says.
func (f *fixture[T]) outlasts(call refrain.Call, then func(ctx context.Context) error) func(context.Context, T) (refrain.Result, error) {
	return func(ctx context.Context, tx T) (refrain.Result, error) {
		result, err := f.effect(call)(ctx, tx)
		if err != nil {
			return result, err
		}
		await(f.t, ctx.Done(), "MaxExecution")
		return result, then(ctx)
	}
}

// maxExecutionRollsBack: past its time nothing of an effect stays, whether it
// says so or answers as if it were in time.
func maxExecutionRollsBack[T any](f *fixture[T]) {
	call := f.call("k", "one")
	call.Contract.MaxExecution = 20 * time.Millisecond
	for name, then := range map[string]func(context.Context) error{
		"returns the context's error": func(ctx context.Context) error { return ctx.Err() },
		"returns its own error":       func(context.Context) error { return errInjected },
		"answers too late":            func(context.Context) error { return nil },
	} {
		out, err := f.execute(f.Harness, call, f.outlasts(call, then))
		if !errors.Is(err, record.NotExecuted) {
			f.t.Errorf("an effect that %s: %+v, %s", name, out, describe(err))
			continue
		}
		f.isRefusal(out, err, "14", record.NotExecuted)
	}
	f.leavesNothing(f.call("k", "one"))
}

// maxExecutionStrikes: after five runs in a row a retry is called useless, and
// a success starts the count anew.
func maxExecutionStrikes[T any](f *fixture[T]) {
	call := f.call("k", "one")
	call.Contract.MaxExecution = 10 * time.Millisecond
	late := f.outlasts(call, func(ctx context.Context) error { return ctx.Err() })
	for run := 1; run <= 5; run++ {
		out, err := f.execute(f.Harness, call, late)
		refusal := f.isRefusal(out, err, "14", record.NotExecuted)
		if refusal.Final != (run == 5) || refusal.Retryable() != (refusal.RetryAfter > 0) {
			f.t.Errorf("run %d: final = %t, retry after %v", run, refusal.Final, refusal.RetryAfter)
		}
	}
	f.leavesNothing(f.call("k", "one"))
}
