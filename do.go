package refrain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/refrain-dev/refrain/record"
)

// Done is the outcome of [Do] with its typed value.
type Done[R any] struct {
	Value R
	Outcome
}

// Do executes an effect whose result is a Go value, kept as JSON. Repeats get
// the stored value. A recorded refusal (see [Reject]) comes back as a
// [*Rejection], from the first call and from every repeat.
//
// A stored value that no longer decodes into R is [ErrUnreadable]: the action
// is done and must not be retried in a loop.
func Do[T, R any](ctx context.Context, ex Executor[T], call Call, effect func(ctx context.Context, tx T) (R, error)) (Done[R], error) {
	var done Done[R]
	// By the newest run, which is the committed one.
	var made R
	var refused *Rejection
	out, err := ex.Execute(ctx, call, func(ctx context.Context, tx T) (Result, error) {
		value, err := effect(ctx, tx)
		refused = nil
		if err != nil {
			errors.As(err, &refused)
			return rejected(err)
		}
		made = value
		body, err := json.Marshal(value)
		if err != nil {
			return Result{}, fmt.Errorf("refrain: the effect's result: %w", err)
		}
		return Result{Body: body}, nil
	})
	if err != nil {
		return done, err
	}
	done.Outcome = out
	switch {
	case !out.State.Final():
		return done, unfinished(out)
	case out.State == record.Confirmed && !out.Kept() && !out.Replayed: // too large to be kept, not to be returned
		done.Value = made
		return done, nil
	case out.State == record.Rejected && !out.Replayed && refused != nil:
		return done, refused
	case out.State == record.Rejected:
		var reason string
		if err := json.Unmarshal(out.Body, &reason); err != nil {
			return done, unreadable(out, err)
		}
		return done, &Rejection{Err: errors.New(reason)}
	}
	if err := json.Unmarshal(out.Body, &done.Value); err != nil {
		return done, unreadable(out, err)
	}
	return done, nil
}

// rejected turns a [Rejection] into a recorded result and passes any other
// error through.
func rejected(err error) (Result, error) {
	var r *Rejection
	if !errors.As(err, &r) {
		return Result{}, err
	}
	reason, err := json.Marshal(r.Error())
	return Result{Rejected: true, Body: reason}, err
}

// unfinished is row 6b for a caller that waits for a value: under Async a repeat
// is answered with the state, which has none yet.
func unfinished(out Outcome) error {
	problem := ErrInProgress
	if out.State == record.Unknown {
		problem = ErrOutcomeUnknown
	}
	return &Error{Problem: problem, Row: "6b", Ref: out.Ref, State: out.State, RetryAfter: time.Second}
}

func unreadable(out Outcome, err error) error {
	return &Error{Problem: ErrUnreadable, Row: "16", Ref: out.Ref, State: out.State, Err: err}
}
