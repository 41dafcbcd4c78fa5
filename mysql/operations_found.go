package mysql

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/refrain-dev/refrain/operation"
)

// operationsFound are what was read in one statement.
type operationsFound struct {
	all     []operation.Operation
	unread  []error
	now     time.Time
	unsound bool // the session's reads or its clock are not worth having
}

// whole is the error of whoever needs all that was found.
func (f operationsFound) whole(err error) error {
	if err != nil {
		return err
	}
	return errors.Join(f.unread...)
}

// operationsLike reads operations outside any transaction, in one round trip
// where the session is as it should be.
func (db *DB) operationsLike(ctx context.Context, query string, args ...any) (found operationsFound, err error) {
	ctx, cancel := context.WithTimeout(ctx, db.opts.Busy) // also for a connection: the pool may be in use
	defer cancel()
	if db.closed.Load() {
		return operationsFound{}, errClosed
	}
	found, err = readOperations(ctx, inlined{db.pool}, query, args...)
	if err == nil && found.unsound {
		err = db.reading(ctx, func(ctx context.Context, q runner) (err error) {
			if found, err = readOperations(ctx, q, query, args...); err == nil {
				found.now, err = db.clock(ctx, q)
			}
			return err
		})
	}
	if err != nil {
		return operationsFound{}, migrated(err)
	}
	found.now = db.now(found.now)
	return found, nil
}

func readOperations(ctx context.Context, q runner, query string, args ...any) (f operationsFound, err error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return f, err
	}
	defer rows.Close()
	for rows.Next() {
		r, err := scanAny(rows, 3+operationColumnCount)
		if err != nil {
			return f, err
		}
		f.now, f.unsound = time.UnixMicro(r.integer(0)).UTC(), r.integer(1) != 0 || r.integer(2) != 0
		if op, err := decodeOperation(r[3:]); err != nil {
			f.unread = append(f.unread, fmt.Errorf("mysql: operation %s: %w", op.Ref, err))
		} else {
			f.all = append(f.all, op)
		}
	}
	return f, errors.Join(rows.Err(), rows.Close())
}
