package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

const fenceSQL = "SELECT id, operation, scope, until, since, reason, `by`, at, ended FROM refrain_fence"

// Fences returns every fence, oldest first.
func (db *DB) Fences(ctx context.Context) (all []upkeep.Fence, err error) {
	err = db.reading(ctx, func(ctx context.Context, q runner) error {
		rows, err := q.QueryContext(ctx, fenceSQL+` ORDER BY id`+every)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			f, err := readFence(rows)
			if err != nil {
				return err
			}
			all = append(all, f)
		}
		return rows.Err()
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

func readFence(s scanner) (upkeep.Fence, error) {
	r, err := scanAny(s, 9)
	if err != nil {
		return upkeep.Fence{}, err
	}
	return upkeep.Fence{ID: r.integer(0), Operation: r.text(1), Scope: r.text(2), Until: r.instant(3), Since: r.instant(4),
		Reason: r.text(5), By: r.text(6), At: r.instant(7), Ended: r.instant(8)}, nil
}

// unfound is said by writes that no key finds: a session with safe updates refuses those
// without a limit, and takes the greatest number for none.
const unfound = ` LIMIT 9223372036854775807`

// withdrawSQL takes back what was allowed before: an allow of a backup may have been
// spent in what was lost.
const withdrawSQL = `DELETE FROM refrain_allow WHERE ? IN (X'', operation) AND ? IN (X'', scope)` + unfound

// SetFence stores a fence, at the store's time, and returns its id, or what
// [upkeep.Fence.Check] says then.
func (db *DB) SetFence(ctx context.Context, f upkeep.Fence) (id int64, err error) {
	err = db.writing(ctx, func(ctx context.Context, tx runner) error {
		now, err := db.clock(ctx, tx)
		if err == nil {
			err = f.Check(now)
		}
		if err != nil {
			return err
		}
		res, err := tx.ExecContext(ctx, "INSERT INTO refrain_fence (operation, scope, until, since, reason, `by`, at) VALUES (?, ?, ?, ?, ?, ?, ?)",
			[]byte(f.Operation), []byte(f.Scope), micros(f.Until), micros(f.Since), []byte(f.Reason), []byte(f.By), now.UnixMicro())
		if err != nil {
			return err
		}
		if id, err = res.LastInsertId(); err != nil {
			return err
		}
		f.ID = id
		if _, err := tx.ExecContext(ctx, withdrawSQL, []byte(f.Operation), []byte(f.Scope)); err != nil {
			return err
		}
		return fenced(ctx, tx, f, "fence", f.By, f.Reason, now)
	})
	if err != nil {
		return 0, err
	}
	return id, nil
}

// EndFence ends the handling of keys without a time. [record.ErrNotFound]: there is
// no such fence that stands.
func (db *DB) EndFence(ctx context.Context, id int64, by, reason string) error {
	if err := upkeep.Signed(by, reason); err != nil {
		return err
	}
	return db.onFence(ctx, id, `AND ended IS NULL`, "fence-end", by, reason, func(ctx context.Context, tx runner, now time.Time) error {
		_, err := tx.ExecContext(ctx, `UPDATE refrain_fence SET ended = ? WHERE id = ?`, now.UnixMicro(), id)
		return err
	})
}

// VoidFence removes a fence that was a mistake, or returns [record.ErrNotFound].
func (db *DB) VoidFence(ctx context.Context, id int64, by, reason string) error {
	if err := upkeep.Signed(by, reason); err != nil {
		return err
	}
	return db.onFence(ctx, id, ``, "fence-void", by, reason, func(ctx context.Context, tx runner, _ time.Time) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM refrain_fence WHERE id = ?`, id)
		return err
	})
}

func (db *DB) onFence(ctx context.Context, id int64, where, action, by, reason string, act func(context.Context, runner, time.Time) error) error {
	return db.writing(ctx, func(ctx context.Context, tx runner) error {
		now, err := db.clock(ctx, tx)
		if err != nil {
			return err
		}
		var f upkeep.Fence
		err = db.waiting(ctx, func(ctx context.Context) (err error) {
			f, err = readFence(tx.QueryRowContext(ctx, fenceSQL+` WHERE id = ? `+where+` LIMIT 1 FOR UPDATE`, id))
			return err
		})
		if errors.Is(err, sql.ErrNoRows) {
			return record.ErrNotFound
		}
		if err == nil {
			err = act(ctx, tx, now)
		}
		if err != nil {
			return err
		}
		return fenced(ctx, tx, f, action, by, reason, now)
	})
}

// fenced writes a line of audit about a fence.
func fenced(ctx context.Context, tx runner, f upkeep.Fence, action, by, reason string, now time.Time) error {
	operation, scope := f.Operation, f.Scope
	if operation == "" {
		operation = "all operations"
	}
	if scope == "" {
		scope = "all scopes"
	}
	return audit(ctx, tx, Audit{At: now, By: by, Action: action, Reason: reason,
		Detail: fmt.Sprintf("fence %d: %s, %s, until %s", f.ID, operation, scope, f.Until.UTC().Format(time.RFC3339Nano))})
}
