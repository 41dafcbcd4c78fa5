package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

// ExecuteIn joins the caller's transaction: the effect and its record commit
// with it or roll back with it. tx is a *sql.Tx, a *sql.Conn on which BEGIN was
// sent, or what a toolkit has of the two. The outcome is provisional until the
// caller commits and must not be shown before. It waits for nobody: a held
// identity is [refrain.ErrInProgress] at once, and stays held until the caller's
// transaction ends.
//
// All of it happens inside a savepoint of its own, so that the caller's
// transaction is as usable afterwards as it was before, whatever the outcome,
// but for two: [ErrTxUnusable] says that it must be rolled back, as after the loss
// of its connection; [refrain.ErrRetryTransaction] that it lost a race, met a
// serialization failure or a deadlock, or had failed before: roll it back and run
// it again from its start.
//
// A transaction of another database is [ErrOtherDatabase], and nothing is written.
// It is told by what the handle given to [NewSQL] says of its own, asked once per
// run of the server, and not while the handle has no connection to spare.
//
// That the caller's COMMIT was not confirmed by its synchronous standbys is for
// the caller to hear. The effect may write through the caller's own handle, too;
// when it ends the transaction by it, the record is not written.
func (db *SQL) ExecuteIn(ctx context.Context, tx SQLTx, call refrain.Call, effect func(ctx context.Context, tx SQLTx) (refrain.Result, error)) (refrain.Outcome, error) {
	return call.Join(ctx, db.opts.Observer, func(ctx context.Context, c *record.Claim) (*record.Record, bool, error) {
		leave, err := db.tasks.enter()
		if err != nil {
			return nil, false, err
		}
		defer leave()
		j := &joining{db: db, tx: tx, run: through{tx}, c: c}
		rec, fresh, err := j.join(ctx, effect)
		return rec, fresh, retold(err)
	})
}

// joining is one call of ExecuteIn.
type joining struct {
	db  *SQL
	tx  SQLTx
	run through
	c   *record.Claim
}

func (j *joining) join(ctx context.Context, effect sqlEffect) (rec *record.Record, fresh bool, err error) {
	soon, cancel := j.db.opts.soon(ctx)
	defer cancel()
	if err := j.savepoint(soon); err != nil {
		return nil, false, unheard(soon, err)
	}
	kept := false
	defer func() { // also when the effect panics
		if !kept {
			err = j.undo(ctx, err)
		}
	}()
	found, err := j.claim(soon)
	if err != nil {
		return nil, false, unheard(soon, err)
	}
	now := j.db.time(found.now)
	decision, err := decide(found, j.c, now)
	if errors.Is(err, record.ErrHeld) { // nobody waits inside a transaction
		err = record.Refusal(decision, found.Seen, j.c, now)
	}
	if decision.Review {
		if j.db.review(ctx, j.run, j.c, now) == nil { // kept if the caller commits
			released := j.release(ctx)
			kept = released == nil
			return nil, false, errors.Join(err, released)
		}
	}
	if err != nil {
		return nil, false, err
	}
	if decision.Action != record.Execute {
		if err := errors.Join(j.confirm(ctx, found), j.release(ctx)); err != nil {
			return nil, false, err
		}
		kept = true
		return found.Record, false, nil
	}
	rec, err = j.perform(ctx, found, decision, effect)
	if err != nil {
		return nil, false, err
	}
	if err := j.release(ctx); err != nil {
		return nil, false, err
	}
	kept = true
	return rec, true, nil
}

// perform runs the effect and writes its record.
func (j *joining) perform(ctx context.Context, found seen, decision record.Decision, effect sqlEffect) (*record.Record, error) {
	now := j.db.time(found.now)
	rec := j.c.Begin(now)
	bounded, cancel := j.c.Bound(ctx, rec)
	defer cancel()
	t := &sqlTx{tx: j.tx, base: bounded, joined: true}
	defer t.end()
	result, err := effect(bounded, t)
	if poison := t.end(); err == nil {
		err = poison
	}
	if err == nil {
		err = t.swallowed(result.Rejected)
	}
	if err == nil {
		err = bounded.Err()
	}
	if err != nil {
		return nil, j.failed(bounded, t, err)
	}
	if result, err = j.c.Keep(result); err != nil {
		return nil, err
	}
	if result.Rejected {
		if found, err = j.relook(ctx, found); err != nil {
			return nil, err
		}
	}
	rec.Result = result
	j.c.Settle(rec, result, now)
	if err := j.db.awaited(bounded, j.run, rec); err != nil {
		return nil, err
	}
	if _, err := j.db.keep(bounded, j.run, j.c, rec, found, decision); err != nil {
		return nil, unrecorded(bounded, j.c, t, err)
	}
	return rec, nil
}

// relook undoes what a rejecting effect wrote. That gives the identity's lock
// back, and somebody may have taken it.
func (j *joining) relook(ctx context.Context, before seen) (seen, error) {
	if _, err := j.run.exec(ctx, "ROLLBACK TO SAVEPOINT "+j.db.mark); err != nil {
		return seen{}, err
	}
	found, err := j.claim(ctx)
	if err == nil && (!found.locked || found.Record != nil && before.Record == nil) {
		err = errRace
	}
	return found, err
}

// failed is what an effect's failure means. What the caller wrote before cannot be
// told apart from what the effect did.
func (j *joining) failed(bounded context.Context, t *sqlTx, err error) error {
	poison := t.end()
	switch {
	case bounded.Err() != nil:
	case retryable(poison):
		return poison
	case retryable(err), outage(err):
		switch _, aborted := wrote(bounded, j.run); {
		case aborted && retryable(err): // not of another database
			return err
		case t.met.spoilt(aborted, err):
			return t.met.failing(err)
		}
	}
	return j.c.Failed(bounded, t.cause(err), true)
}

// confirm makes the caller's COMMIT wait for the standbys that may not have the
// record yet: one that has only read does not.
func (j *joining) confirm(ctx context.Context, found seen) error {
	if found.Record == nil || !found.standbys || j.db.acks.cover(found) {
		return nil
	}
	_, err := j.run.exec(ctx, barrierText)
	return err
}

// savepoint begins ours. Outside of a transaction there is none to join.
func (j *joining) savepoint(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err // nothing was asked yet
	}
	_, err := j.run.exec(ctx, "SAVEPOINT "+j.db.mark)
	switch sqlState(err) {
	case failedTransaction:
		return fmt.Errorf("%w: a statement had failed before: %w", refrain.ErrRetryTransaction, err)
	case "25P01":
		return errors.Join(errNoTransaction, err)
	}
	if err != nil { // the connection was lost, or cut off by ctx
		return fmt.Errorf("%w: %w", ErrTxUnusable, err)
	}
	return nil
}

// errNoTransaction: ExecuteIn needs one.
var errNoTransaction = errors.New("postgres: ExecuteIn outside of a transaction")

func (j *joining) release(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, j.c.Policy.CommitWait)
	defer cancel()
	_, err := j.run.exec(ctx, "RELEASE SAVEPOINT "+j.db.mark)
	return err
}

// undo takes back what was done since our savepoint, whatever became of ctx, and
// says if the caller's transaction is of no more use.
func (j *joining) undo(ctx context.Context, err error) error {
	undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackWait)
	defer cancel()
	_, gone := j.run.exec(undo, "ROLLBACK TO SAVEPOINT "+j.db.mark)
	if gone == nil {
		gone = j.release(undo)
	}
	if gone != nil {
		return errors.Join(err, fmt.Errorf("%w: %w", ErrTxUnusable, gone))
	}
	return err
}

// retold marks what makes the caller run its transaction again.
func retold(err error) error {
	var refusal *record.Error
	switch {
	case errors.As(err, &refusal), errors.Is(err, refrain.ErrRetryTransaction):
		return err
	case rerun(err):
		return fmt.Errorf("%w: %w", refrain.ErrRetryTransaction, err)
	}
	return err
}
