package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"
)

// Operations returns the store of external operations.
func (db *DB) Operations() operation.Store[Tx] { return operations{db} }

type operations struct{ db *DB }

// Add implements [operation.Store]. After [operation.ErrAccepted] the transaction
// stands as before.
func (o operations) Add(ctx context.Context, tx Tx, op operation.Operation) error {
	if _, pool := tx.(*sql.DB); pool {
		return errNoTransaction
	}
	args, err := o.db.addArgs(op)
	if err != nil {
		return err
	}
	_, err = own(ctx, tx, addSQL, args...)
	if number(err) == errNullColumn && o.db.opts.Now == nil {
		if _, err = own(ctx, tx, unpinSQL); err == nil {
			_, err = own(ctx, tx, addSQL, args...)
		}
	}
	switch {
	case err == nil:
		return nil
	case number(err) == errDuplicate && strings.HasSuffix(err.Error(), uniqueStep):
		return operation.ErrAccepted
	}
	return fmt.Errorf("mysql: an operation: %w", migrated(err))
}

// uniqueStep is the key that decides, one operation per step of an action, as the
// server ends its error.
const uniqueStep = "refrain_external_step'"

// Load implements [operation.Store].
func (o operations) Load(ctx context.Context, ref string) (operation.Operation, time.Time, error) {
	if !record.ValidRef(ref) {
		return operation.Operation{}, time.Time{}, record.ErrNotFound
	}
	found, err := o.db.operationsLike(ctx, readOperationsSQL+`o.ref = ? LIMIT 1`, encodeRef(ref))
	if err = found.whole(err); err == nil && len(found.all) == 0 {
		err = record.ErrNotFound
	}
	if err != nil {
		return operation.Operation{}, time.Time{}, err
	}
	return found.all[0], found.now, nil
}

// Of implements [operation.Store].
func (o operations) Of(ctx context.Context, action string) ([]operation.Operation, error) {
	if !record.ValidRef(action) {
		return nil, nil
	}
	found, err := o.db.operationsLike(ctx, readOperationsSQL+`o.action = ? ORDER BY o.seq`+every, encodeRef(action))
	if err = found.whole(err); err != nil {
		return nil, err
	}
	return found.all, nil
}

// List implements [operation.Store].
func (o operations) List(ctx context.Context, like operation.Operation, limit int) ([]operation.Operation, error) {
	if like.Action != "" && !record.ValidRef(like.Action) {
		return nil, nil
	}
	where, args := []string{`TRUE`}, []any(nil)
	agree := func(holds bool, condition string, arg ...any) {
		if holds {
			where, args = append(where, condition), append(args, arg...)
		}
	}
	agree(like.Provider != "", `o.provider = ?`, []byte(like.Provider))
	agree(like.Step != "", `o.step = ?`, []byte(like.Step))
	agree(like.Action != "", `o.action = ?`, encodeRef(like.Action))
	agree(like.State != 0, `o.state = ?`, int64(like.State))
	agree(like.Disputed, `o.disputed`)
	if limit <= 0 {
		limit = 100
	}
	found, err := o.db.operationsLike(ctx, listOperationsSQL+strings.Join(where, ` AND `)+` ORDER BY o.seq LIMIT ?`, append(args, min(limit, 1000))...)
	for i, op := range found.all {
		found.all[i] = op.Brief()
	}
	return found.all, found.whole(err)
}

// Due implements [operation.Store].
func (o operations) Due(ctx context.Context) (since map[string]time.Time, now time.Time, err error) {
	err = o.db.reading(ctx, func(ctx context.Context, q runner) error {
		since = make(map[string]time.Time)
		if now, err = o.db.clock(ctx, q); err != nil {
			return err
		}
		now = record.Micro(o.db.now(now))
		return ask{dueSQL, []any{micros(now)}, 2, func(r anyRow) error {
			since[r.text(0)] = r.instant(1)
			return nil
		}}.one(ctx, q)
	})
	if err != nil {
		return nil, time.Time{}, migrated(err)
	}
	return since, now, nil
}

// Forget implements [operation.Store].
func (o operations) Forget(ctx context.Context, t time.Time, limit int) (forgotten int, err error) {
	if record.Nested(ctx) {
		return 0, record.ErrNested
	}
	err = o.db.writing(ctx, func(ctx context.Context, tx runner) error {
		forgotten = 0
		found, err := seqs(tx.QueryContext(ctx, forgettableSQL, t.UnixMicro(), int64(operation.Format), max(limit, 0)))
		if err != nil {
			return err
		}
		return inBatches(found, func(part []any) error {
			res, err := tx.ExecContext(ctx, `DELETE FROM refrain_external WHERE final IS NOT NULL AND NOT disputed AND seq IN (`+marks(len(part))+`)`, part...)
			if err != nil {
				return err
			}
			n, err := res.RowsAffected()
			forgotten += int(n)
			return err
		})
	})
	if err != nil {
		return 0, err
	}
	return forgotten, nil
}

func seqs(rows *sql.Rows, err error) (all []any, _ error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		r, err := scanAny(rows, 1)
		if err != nil {
			return nil, err
		}
		all = append(all, r.integer(0))
	}
	return all, errors.Join(rows.Err(), rows.Close())
}

// Woken implements [operation.Store]: the server tells nobody.
func (operations) Woken() <-chan struct{} { return nil }
