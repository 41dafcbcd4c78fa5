package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

// takeOnceSQL makes itself fail (NULL into at, 1048 whatever the sql_mode) in a
// session whose clock stands.
const takeOnceSQL = `INSERT INTO refrain_once (rule, value, ref, at) VALUES (?, ?, ?, COALESCE(?, IF(` + pinnedSQL + `, NULL, ` + nowSQL + `)))`

// Once takes a value of a rule for ever, in the transaction tx: an effect's, or
// one of yours, which must have begun. [refrain.ErrTaken] when it was taken before:
// then nothing was written and the transaction goes on. It is no receipt: it ends
// with no memory and answers nothing. rule has 1 to 100 bytes and value 1 to 255,
// else it is [upkeep.ErrOnce]; both are compared byte for byte.
//
// Who comes second waits for the first one's transaction, as long as the session
// waits for locks. [refrain.ErrRetryTransaction]: the server has ended the
// transaction; run it again. An effect of Execute hands that on and is run again.
func (db *DB) Once(ctx context.Context, tx Tx, rule, value string) error {
	if err := upkeep.CheckOnce(rule, value); err != nil {
		return err
	}
	if _, pool := tx.(*sql.DB); pool {
		return errNoTransaction
	}
	running, _ := refrain.CallFrom(ctx)
	args := []any{[]byte(rule), []byte(value), orNull(encodeRef(running.Ref)), db.stamp()}
	_, err := own(ctx, tx, takeOnceSQL, args...)
	if number(err) == errNullColumn && db.opts.Now == nil {
		if _, err = own(ctx, tx, unpinSQL); err == nil {
			_, err = own(ctx, tx, takeOnceSQL, args...)
		}
	}
	switch {
	case err == nil:
		return nil
	case number(err) == errDuplicate:
		return refrain.ErrTaken
	case retryable(err):
		return fmt.Errorf("mysql: Once: %w: %w", refrain.ErrRetryTransaction, err)
	}
	return fmt.Errorf("mysql: Once: %w", migrated(err))
}

// Onces returns the values that a rule holds.
func (db *DB) Onces(ctx context.Context, q upkeep.OnceQuery) (all []upkeep.Once, err error) {
	err = db.reading(ctx, func(ctx context.Context, tx runner) error {
		rows, err := tx.QueryContext(ctx, `SELECT value, ref, at FROM refrain_once WHERE rule = ? AND value > ? ORDER BY value LIMIT ?`,
			[]byte(q.Rule), []byte(q.After), q.Bounded())
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			r, err := scanAny(rows, 3)
			if err != nil {
				return err
			}
			o := upkeep.Once{Rule: q.Rule, Value: r.text(0), At: r.instant(2)}
			if !r.null(1) {
				if o.Ref, err = decodeRef(r.blob(1)); err != nil {
					return err
				}
			}
			all = append(all, o)
		}
		return errors.Join(rows.Err(), rows.Close())
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// RemoveOnce gives a value of a rule free, or returns [record.ErrNotFound]. The
// line of audit names the rule and not the value.
func (db *DB) RemoveOnce(ctx context.Context, rule, value, by, reason string) error {
	if err := upkeep.Signed(by, reason); err != nil {
		return err
	}
	return db.writing(ctx, func(ctx context.Context, tx runner) error {
		now, err := db.clock(ctx, tx)
		if err != nil {
			return err
		}
		var removed sql.Result
		err = db.waiting(ctx, func(ctx context.Context) (err error) {
			removed, err = tx.ExecContext(ctx, `DELETE FROM refrain_once WHERE rule = ? AND value = ?`, []byte(rule), []byte(value))
			return err
		})
		if err != nil {
			return err
		}
		if n, err := removed.RowsAffected(); err != nil || n == 0 {
			return errors.Join(err, record.ErrNotFound)
		}
		return audit(ctx, tx, Audit{At: now, By: by, Action: "once-remove", Reason: reason, Detail: rule})
	})
}
