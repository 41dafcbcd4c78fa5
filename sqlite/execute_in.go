package sqlite

import (
	"context"
	"errors"
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

// ExecuteIn joins the caller's transaction: the effect and its record commit
// with it or roll back with it. The outcome is provisional until the caller
// commits and must not be shown before. It waits for nobody. A transaction that
// lost a race is [refrain.ErrRetryTransaction]: roll it back and run it again.
//
// The caller's transaction should be immediate: a deferred one fails at its
// first write if another writer was faster, and busy_timeout does not help.
// The effect must return the errors of its statements: a bare *sql.Tx cannot be
// watched.
func (db *DB) ExecuteIn(ctx context.Context, tx Tx, call refrain.Call, effect func(ctx context.Context, tx Tx) (refrain.Result, error)) (refrain.Outcome, error) {
	return call.Join(ctx, db.opts.Observer, func(ctx context.Context, c *record.Claim) (*record.Record, bool, error) {
		rec, fresh, err := db.join(ctx, tx, c, effect)
		return rec, fresh, retry(migrated(err))
	})
}

func (db *DB) join(ctx context.Context, tx Tx, c *record.Claim, effect func(context.Context, Tx) (record.Result, error)) (rec *record.Record, fresh bool, err error) {
	run := foreign{tx}
	found, err := lookup(ctx, run, c.Identity, c.Hash)
	if err != nil {
		return nil, false, err
	}
	now := db.opts.Now()
	decision, err := decide(found, c, now)
	if decision.Review {
		err = errors.Join(err, review(ctx, run, c, now)) // kept if the caller commits
	}
	if err != nil || decision.Action != record.Execute {
		return found.Record, false, err
	}
	if _, err := tx.ExecContext(ctx, "SAVEPOINT refrain_in"); err != nil {
		return nil, false, err
	}
	settled := false
	defer func() {
		if settled {
			return
		}
		undo := context.WithoutCancel(ctx) // also when the effect panicked or was cancelled
		if _, gone := tx.ExecContext(undo, "ROLLBACK TO refrain_in"); gone != nil {
			err = errors.Join(err, errGone, gone)
			return
		}
		_, _ = tx.ExecContext(undo, "RELEASE refrain_in")
	}()
	if _, err := tx.ExecContext(ctx, "SAVEPOINT refrain_effect"); err != nil {
		return nil, false, err
	}
	rec = c.Begin(now)
	result, err := joinedEffect(ctx, tx, c, rec, effect)
	if err != nil {
		return nil, false, err
	}
	// A transaction that was rolled back behind our back has no savepoint, and
	// the record would commit alone.
	if _, err := tx.ExecContext(ctx, "RELEASE refrain_effect"); err != nil {
		return nil, false, errors.Join(errGone, err)
	}
	if result.Rejected {
		if _, err := tx.ExecContext(ctx, "ROLLBACK TO refrain_in"); err != nil {
			return nil, false, err
		}
	}
	c.Settle(rec, result, now)
	if err := awaited(ctx, run, rec); err != nil {
		return nil, false, err
	}
	if err := write(ctx, run, c, rec, found, decision); err != nil {
		return nil, false, err
	}
	if _, err := tx.ExecContext(ctx, "RELEASE refrain_in"); err != nil {
		return nil, false, err
	}
	settled = true
	return rec, true, nil
}

func joinedEffect(ctx context.Context, tx Tx, c *record.Claim, rec *record.Record, effect func(context.Context, Tx) (record.Result, error)) (record.Result, error) {
	before, err := totalChanges(ctx, foreign{tx})
	if err != nil {
		return record.Result{}, err
	}
	bounded, cancel := c.Bound(ctx, rec)
	defer cancel()
	result, err := effect(bounded, tx)
	if err == nil && bounded.Err() != nil && ctx.Err() == nil {
		err = bounded.Err()
	}
	if err != nil {
		after, countErr := totalChanges(ctx, foreign{tx})
		return record.Result{}, c.Failed(bounded, err, countErr != nil || before != after)
	}
	return c.Keep(result)
}

// retry marks a transaction that another writer overtook.
func retry(err error) error {
	if busy(err) || errors.Is(err, sqlite3.BUSY_SNAPSHOT) {
		return fmt.Errorf("%w: %w", refrain.ErrRetryTransaction, err)
	}
	return err
}
