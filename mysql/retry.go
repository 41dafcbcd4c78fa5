package mysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"time"

	driverlib "github.com/go-sql-driver/mysql"

	"github.com/refrain-dev/refrain/record"
)

// retries is what the attempts of one call know of each other.
type retries struct {
	until time.Time // no attempt begins later
	tried int
	dials int // attempts whose connection was dead already
	moved bool

	// A COMMIT whose answer was lost: its record, until when it may be looked for,
	// and why it is in doubt.
	pending  *record.Record
	deadline time.Time
	cause    error
	doubts   int // how many those were
}

// failedBefore reports an answer that says for certain that COMMIT was not
// reached, or that it rolled back. Anything else is looked into.
func failedBefore(err error) bool {
	if err == nil {
		return false
	}
	switch number(err) {
	case 0:
		// The driver found the connection dead before it sent a byte, or refused.
		return errors.Is(err, driver.ErrBadConn) || errors.Is(err, driverlib.ErrPktTooLarge)
	case errNoSavepoint, errNullColumn, errDuplicate, errLockWait, errNoTable, 1054, 1142, 1143, 1153, 1364, 1366, 1406, 1264, 1452, 1792:
		return true
	}
	return retryable(err)
}

// unsure remembers a COMMIT that may have happened.
func (r *retries) unsure(c *record.Claim, rec *record.Record, err error) {
	r.pending, r.cause = rec, err
	r.doubts++
	r.deadline = time.Now().Add(c.Policy.CommitWait)
}

// spent refuses yet another attempt after those that ended in doubt. Where the
// last of them is known to be dead, nothing was executed.
func (r *retries) spent() error {
	switch {
	case r.doubts == 0 || r.doubts < maxAttempts && time.Now().Before(r.until):
		return nil
	case r.pending != nil:
		return commitUnknown(r.cause)
	}
	return &record.Error{Problem: record.NotExecuted, Row: "14", Err: errLost}
}

// context is that of the next attempt: while an outcome is in doubt the caller's
// cancellation does not keep anybody from finding out.
func (r *retries) context(ctx context.Context) context.Context {
	if r.pending != nil {
		return context.WithoutCancel(ctx)
	}
	return ctx
}

// resolve tells what became of the COMMIT in doubt, by what the claim, taken
// again, has found: its record, or nothing, and then the old transaction is dead,
// because its connection held the lock until it ended. Where there is no lock the
// record's unique key decides.
func (r *retries) resolve(found seen, noLock bool) (mine *record.Record, err error) {
	if r.pending == nil {
		return nil, nil
	}
	switch {
	case found.Record != nil && found.Record.Ref == r.pending.Ref:
		return found.Record, nil
	case found.Record == nil && (found.Held || noLock):
		return nil, nil
	}
	cause := r.cause
	r.pending, r.cause = nil, nil
	if !broken(cause) { // the server said why; it would say so again
		return nil, cause
	}
	return nil, nil
}

// notBegun marks the error of an attempt that had no transaction.
type notBegun struct{ error }

func (e notBegun) Unwrap() error { return e.error }

const maxDials = 3

// again decides about another attempt after err, waits for its time, and returns
// what the caller is told if there is none.
func (r *retries) again(ctx context.Context, err error) (bool, error) {
	if err == nil {
		return false, nil
	}
	var early notBegun
	begun := !errors.As(err, &early)
	switch {
	case r.pending != nil:
		return r.ask(err)
	case !begun && noSuchLock(err):
		return r.dials < maxDials && r.dial(), err
	case !begun && broken(err) && ctx.Err() == nil && r.dials < maxDials:
		return r.dial(), err
	case errors.Is(err, errMoved) && !r.moved:
		r.moved = true
		return true, err
	case retryable(err):
		return r.later(ctx, err)
	}
	return false, err
}

func (r *retries) dial() bool {
	r.dials++
	return true
}

// ask comes again to find out, within the time the caller waits for COMMIT.
func (r *retries) ask(err error) (bool, error) {
	var refusal *record.Error
	if errors.As(err, &refusal) && refusal.Problem == record.CommitUnknown {
		return false, err
	}
	if refusal != nil || time.Now().After(r.deadline) {
		return false, commitUnknown(r.cause) // without err: held, it would be taken for another's claim
	}
	r.tried++
	sleep(context.Background(), record.Backoff(5*time.Millisecond, 100*time.Millisecond, r.tried))
	return true, err
}

// later comes again after a race was lost, or tells row 14.
func (r *retries) later(ctx context.Context, err error) (bool, error) {
	wait := record.Backoff(retryFirst, retryLongest, r.tried)
	r.tried++
	if r.tried >= maxAttempts || time.Now().Add(wait).After(r.until) {
		return false, &record.Error{Problem: record.NotExecuted, Row: "14", Err: err}
	}
	if !sleep(ctx, wait) {
		return false, errors.Join(context.Cause(ctx), err)
	}
	return true, err
}
