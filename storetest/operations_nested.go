package storetest

import (
	"context"
	"errors"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"
)

// operationIsNotNested: inside an effect nothing is taken, changed or forgotten:
// its own transaction may hold what that would wait for.
func operationIsNotNested[T any](o *operations[T]) {
	op := o.adds(o.intent())[0]
	call := o.call("k", "one")
	_, err := o.execute(o.Harness, call, func(ctx context.Context, tx T) (refrain.Result, error) {
		_, _, took := o.store.Take(ctx, provider, 1, opens)
		changed := o.store.Change(ctx, op.Ref, func(_ context.Context, _ T, seen operation.Seen) (operation.Edit, error) { return touch(seen), nil })
		_, forgot := o.store.Forget(ctx, epoch.Add(time.Hour), 1)
		for what, err := range map[string]error{"Take": took, "Change": changed, "Forget": forgot} {
			if !errors.Is(err, record.ErrNested) {
				o.t.Errorf("%s inside an effect: %v, want ErrNested", what, err)
			}
		}
		return o.effect(call)(ctx, tx)
	})
	if err != nil {
		o.t.Fatal(err)
	}
	o.same("untouched", o.stored(op.Ref), op)
	o.effects(1)
}
