package storetest

import (
	"errors"

	"github.com/refrain-dev/refrain"
)

// failedCommit: no caller, waiter or lookup is told of a success that was not
// committed; the retry runs, once.
func failedCommit[T any](f *fixture[T]) {
	for name, first := range map[string]func(refrain.Call) (refrain.Outcome, error){
		"confirmed": func(call refrain.Call) (refrain.Outcome, error) { return f.do(call) },
		"rejected":  func(call refrain.Call) (refrain.Outcome, error) { return f.execute(f.Harness, call, f.rejects(call)) },
	} {
		call := f.call(name, "one")
		before, err := f.Effects(f.ctx)
		if err != nil {
			f.t.Fatal(err)
		}
		failing := func() error { return errInjected }
		f.onCommit.Store(&failing)
		out, err := first(call)
		var refusal *refrain.Error
		if !errors.As(err, &refusal) || !refusal.Retryable() || errors.Is(err, refrain.ErrEffectFailed) || out.Ref != "" {
			f.t.Fatalf("%s: Execute with a failing COMMIT = %+v, %s; want a retryable refusal", name, out, describe(err))
		}
		f.effects(len(before))
		seen, _, err := f.Store.Load(f.ctx, identity(call))
		if err != nil || seen.Record != nil {
			f.t.Errorf("%s: after the failed COMMIT Load = %+v, %v; want no record", name, seen.Record, err)
		}
		f.onCommit.Store(nil)
		original := f.fresh(call)
		f.replay(call, original)
		f.effects(len(before) + 1)
	}
}
