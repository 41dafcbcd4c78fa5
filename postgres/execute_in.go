package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

var (
	// ErrTxUnusable: what ExecuteIn wrote could not be taken back alone; the
	// caller's transaction cannot be committed and must be rolled back.
	ErrTxUnusable = errors.New("postgres: the caller's transaction is of no more use")
	// ErrOtherDatabase: ExecuteIn was given a transaction of another database than
	// the engine's.
	ErrOtherDatabase = errors.New("postgres: the transaction belongs to another database")
)

// ExecuteIn joins the caller's transaction: the effect and its record commit
// with it or roll back with it. The outcome is provisional until the caller
// commits and must not be shown before. It waits for nobody: a held identity is
// [refrain.ErrInProgress] at once, and stays held from here on until the caller's
// transaction ends.
//
// After any error but [ErrTxUnusable] the caller's transaction stands as it was
// before the call. [refrain.ErrRetryTransaction] says that it lost a race, met a
// serialization failure or a deadlock: roll it back and run it again from its
// start. It works in a savepoint of its own, so also inside the caller's, and at
// every isolation level. That a COMMIT was not confirmed by its synchronous
// standbys is for the caller to hear.
func (db *DB) ExecuteIn(ctx context.Context, tx pgx.Tx, call refrain.Call, effect func(ctx context.Context, tx Tx) (refrain.Result, error)) (refrain.Outcome, error) {
	return call.Join(ctx, db.opts.Observer, func(ctx context.Context, c *record.Claim) (*record.Record, bool, error) {
		leave, err := db.tasks.enter()
		if err != nil {
			return nil, false, err
		}
		defer leave()
		j := &join{db: db, tx: tx, c: c, conn: tx.Conn()}
		rec, fresh, err := j.run(ctx, effect)
		return rec, fresh, j.told(err)
	})
}

// join is one call of ExecuteIn.
type join struct {
	db   *DB
	tx   pgx.Tx
	c    *record.Claim
	conn *pgx.Conn

	found    seen
	decision record.Decision
	now      time.Time
	over     bool // the savepoint is gone
}

func (j *join) run(ctx context.Context, effect pgxEffect) (rec *record.Record, fresh bool, err error) {
	if err := j.enter(ctx); err != nil {
		return nil, false, err
	}
	defer func() { // also when the effect panics or exits its goroutine
		if undone := j.undo(); undone != nil {
			err = errors.Join(err, undone)
		}
	}()
	if err := j.look(ctx); err != nil {
		return nil, false, err
	}
	if j.decision.Action != record.Execute {
		return j.answer(ctx)
	}
	rec = j.c.Begin(j.now)
	if rec.Result, err = j.lend(ctx, rec, effect); err != nil {
		return nil, false, err
	}
	j.c.Settle(rec, rec.Result, j.now)
	if err := j.db.awaited(ctx, direct{j.tx}, rec); err != nil {
		return nil, false, err
	}
	statements, err := j.db.sql.writes(j.c, rec, j.found, j.decision)
	if err != nil {
		return nil, false, err
	}
	if rec.Result.Rejected {
		if _, err := j.tx.Exec(context.WithoutCancel(ctx), "ROLLBACK TO SAVEPOINT "+j.db.mark); err != nil {
			return nil, false, err
		}
	}
	if err := j.leave(ctx, statements); err != nil {
		return nil, false, lostRace(err)
	}
	return rec, true, nil
}

// told marks what makes the caller run its transaction again.
func (j *join) told(err error) error {
	var refusal *record.Error
	if err != nil && !errors.As(err, &refusal) && rerun(err) {
		return fmt.Errorf("%w: %w", refrain.ErrRetryTransaction, err)
	}
	return err
}

// answer is what the record says. The savepoint is undone first: it holds the
// identity. A record no standby is known to have makes the caller's COMMIT wait
// for the standbys, whatever else the caller writes: the barrier is its own.
func (j *join) answer(ctx context.Context) (*record.Record, bool, error) {
	if err := j.undo(); err != nil {
		return nil, false, err
	}
	if j.found.standbys && !j.db.acks.cover(j.found) {
		if _, err := j.tx.Exec(context.WithoutCancel(ctx), barrierText); err != nil {
			return nil, false, errors.Join(ErrTxUnusable, err)
		}
	}
	return j.found.Record, false, nil
}
