package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/refrain-dev/refrain/record"
)

const (
	maxAttempts = 10 // transactions per call that lost to others
)

// retried runs attempts until one of them has an answer: again after a lost race
// or a serialization failure, at most maxAttempts times and not longer than
// MaxExecution.
func (r *run) retried(ctx context.Context) (*record.Record, bool, error) {
	until := time.Now().Add(r.c.Policy.MaxExecution)
	for attempt, stale := 1, 1; ; {
		rec, fresh, err := r.attempt(ctx)
		switch {
		case errors.Is(err, errOnceMore):
			continue
		case wasStale(err) && stale < staleTries && ctx.Err() == nil: // nothing was tried yet
			stale++
			continue
		case !rerun(err):
			return rec, fresh, err
		case attempt == maxAttempts || !pause(ctx, until, attempt):
			return nil, false, &record.Error{Problem: record.NotExecuted, Row: "14", Err: errors.Join(context.Cause(ctx), err)}
		}
		attempt++
	}
}

// rerun reports an error for which the transaction is run again. A refusal is an
// answer, whatever its cause.
func rerun(err error) bool {
	var refusal *record.Error
	return !errors.As(err, &refusal) && (retryable(err) || sqlState(err) == changedPlan || sqlState(err) == forgottenPlan)
}

// wasStale reports that nothing was tried yet, on a connection that was dead.
func wasStale(err error) bool {
	var refusal *record.Error
	return !errors.As(err, &refusal) && errors.Is(err, errStale)
}

// States of a prepared statement that is prepared anew: its tables were migrated,
// or somebody deallocated it.
const (
	changedPlan   = "0A000"
	forgottenPlan = "26000"
)
