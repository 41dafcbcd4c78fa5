package sqlite

import (
	"context"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

// Once holds value for rule, for ever, in the transaction of tx: that of an
// effect, of [DB.Update], or one of the caller's on any handle of this file. It is
// [refrain.ErrTaken] where the rule holds it already, and [upkeep.ErrOnce] for a
// rule or a value it cannot keep. It is no receipt: it ends never and answers
// nothing.
func (db *DB) Once(ctx context.Context, tx Tx, rule, value string) error {
	if err := upkeep.CheckOnce(rule, value); err != nil {
		return err
	}
	running, _ := refrain.CallFrom(ctx)
	held, err := ownIn(tx).exec(ctx, `INSERT INTO refrain_once (rule, value, ref, at) VALUES (?, ?, ?, ?) ON CONFLICT (rule, value) DO NOTHING`,
		rule, []byte(value), running.Ref, db.opts.Now().UnixMicro())
	if err == nil && held == 0 {
		err = refrain.ErrTaken
	}
	return migrated(err)
}

const oncesSQL = `SELECT rule, value, ref, at FROM refrain_once WHERE rule = ? AND value > ? ORDER BY value LIMIT ?`

// Onces implements [upkeep.Retention].
func (db *DB) Onces(ctx context.Context, q upkeep.OnceQuery) (all []upkeep.Once, err error) {
	err = db.lookups.rows(ctx, oncesSQL, func(r row) error {
		all = append(all, upkeep.Once{Rule: r.text(0), Value: string(r.blob(1)), Ref: r.text(2), At: instant(r, 3)})
		return nil
	}, q.Rule, []byte(q.After), q.Bounded())
	return all, migrated(err)
}

// RemoveOnce implements [upkeep.Retention].
func (db *DB) RemoveOnce(ctx context.Context, rule, value, by, reason string) error {
	if err := upkeep.Signed(by, reason); err != nil {
		return err
	}
	return db.writing(ctx, func(ctx context.Context, s *session) error {
		removed, err := s.run.exec(ctx, `DELETE FROM refrain_once WHERE rule = ? AND value = ?`, rule, []byte(value))
		if err != nil {
			return err
		}
		if removed == 0 {
			return record.ErrNotFound
		}
		return audit(ctx, s.run, db.opts.Now(), by, "once-remove", "", reason, rule)
	})
}
