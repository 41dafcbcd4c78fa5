package external

import (
	"context"
	"errors"
	"time"

	"github.com/refrain-dev/refrain"
)

// Do is [refrain.Do] for an action that accepts an external operation: it commits
// the effect, awaits the operation for at most d and returns the value that
// Step.Settle rendered, as JSON of an R with status 0; of a rejected operation the
// answer is a JSON string, and it comes back as a [*refrain.Rejection]. Where the
// operation is not settled in time the error is [refrain.ErrInProgress] or
// [refrain.ErrOutcomeUnknown]; it goes on, and the same call asks again.
func Do[T, R any](ctx context.Context, r *Runner[T], ex refrain.Executor[T], call refrain.Call, d time.Duration,
	effect func(ctx context.Context, tx T) error,
) (refrain.Done[R], error) {
	run := func(effect func(context.Context, T) error) (refrain.Done[R], error) {
		return refrain.Do(ctx, ex, call, func(ctx context.Context, tx T) (none R, err error) { return none, effect(ctx, tx) })
	}
	done, err := run(effect)
	var open *refrain.Error
	unsettled := errors.Is(err, refrain.ErrInProgress) || errors.Is(err, refrain.ErrOutcomeUnknown)
	if !unsettled || !errors.As(err, &open) || open.Ref == "" || r.Await(ctx, open.Ref, d) != nil {
		return done, err
	}
	return run(func(context.Context, T) error { return errAccepted })
}

// errAccepted ends an effect that would begin although its action is settled: the
// record is gone already.
var errAccepted = errors.New("external: the action was settled, and its record is not there any more")
