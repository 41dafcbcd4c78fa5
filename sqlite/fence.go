package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

const fenceColumns = `id, operation, scope, until, since, reason, by, at, ended`

func decodeFence(r row) upkeep.Fence {
	return upkeep.Fence{
		ID: r.integer(0), Operation: r.text(1), Scope: r.text(2), Until: instant(r, 3), Since: instant(r, 4),
		Reason: r.text(5), By: r.text(6), At: instant(r, 7), Ended: instant(r, 8),
	}
}

// Fences implements [upkeep.Retention].
func (db *DB) Fences(ctx context.Context) (all []upkeep.Fence, err error) {
	err = db.lookups.rows(ctx, `SELECT `+fenceColumns+` FROM refrain_fence ORDER BY id`, func(r row) error {
		all = append(all, decodeFence(r))
		return nil
	})
	return all, migrated(err)
}

const nextFenceSQL = `1 + max(coalesce((SELECT max(id) FROM refrain_fence), 0), coalesce((SELECT max(id) FROM refrain_audit), 0))`

// setFenceSQL never gives the id of a fence that was voided again: whoever still
// has it on a list must not end another one. The lines of audit stay.
const setFenceSQL = `INSERT INTO refrain_fence (id, operation, scope, until, since, reason, by, at)
 VALUES (` + nextFenceSQL + `, ?, ?, ?, ?, ?, ?, ?)
 RETURNING id`

// withdrawSQL takes back what was allowed before: an allow of a backup may have been
// spent in what was lost.
const withdrawSQL = `DELETE FROM refrain_allow WHERE ?1 IN ('', operation) AND ?2 IN ('', scope)`

// SetFence implements [upkeep.Retention].
func (db *DB) SetFence(ctx context.Context, f upkeep.Fence) (id int64, err error) {
	err = db.writing(ctx, func(ctx context.Context, s *session) error {
		now := db.opts.Now()
		if err := f.Check(now); err != nil {
			return err
		}
		err := s.run.row(ctx, setFenceSQL, func(r row) error {
			id = r.integer(0)
			return nil
		}, f.Operation, f.Scope, f.Until.UnixMicro(), micros(f.Since), f.Reason, f.By, now.UnixMicro())
		if err != nil {
			return err
		}
		if _, err := s.run.exec(ctx, withdrawSQL, f.Operation, f.Scope); err != nil {
			return err
		}
		return audit(ctx, s.run, now, f.By, "fence", "", f.Reason, fenceDetail(f))
	})
	return id, err
}

// EndFence implements [upkeep.Retention].
func (db *DB) EndFence(ctx context.Context, id int64, by, reason string) error {
	if err := upkeep.Signed(by, reason); err != nil {
		return err
	}
	return db.changeFence(ctx, id, by, "fence-end", reason, func(ctx context.Context, q runner, now time.Time) (int64, error) {
		return q.exec(ctx, `UPDATE refrain_fence SET ended = ? WHERE id = ? AND ended IS NULL`, now.UnixMicro(), id)
	})
}

// VoidFence implements [upkeep.Retention].
func (db *DB) VoidFence(ctx context.Context, id int64, by, reason string) error {
	if err := upkeep.Signed(by, reason); err != nil {
		return err
	}
	return db.changeFence(ctx, id, by, "fence-void", reason, func(ctx context.Context, q runner, _ time.Time) (int64, error) {
		return q.exec(ctx, `DELETE FROM refrain_fence WHERE id = ?`, id)
	})
}

func (db *DB) changeFence(ctx context.Context, id int64, by, action, reason string, change func(context.Context, runner, time.Time) (int64, error)) error {
	return db.writing(ctx, func(ctx context.Context, s *session) error {
		now := db.opts.Now()
		var f upkeep.Fence
		err := s.run.row(ctx, `SELECT `+fenceColumns+` FROM refrain_fence WHERE id = ?`, func(r row) error {
			f = decodeFence(r)
			return nil
		}, id)
		var changed int64
		if err == nil {
			changed, err = change(ctx, s.run, now)
		}
		switch {
		case errors.Is(err, sql.ErrNoRows), err == nil && changed == 0:
			return record.ErrNotFound
		case err != nil:
			return err
		}
		return audit(ctx, s.run, now, by, action, "", reason, fenceDetail(f))
	})
}

// fenceDetail tells in a line of audit which fence it is about.
func fenceDetail(f upkeep.Fence) string {
	return fmt.Sprintf("%s in %s until %s", cmp.Or(f.Operation, "every operation"), cmp.Or(f.Scope, "every scope"),
		f.Until.UTC().Format(time.RFC3339Nano))
}
