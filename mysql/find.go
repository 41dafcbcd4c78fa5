package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

var _ upkeep.Keeper = (*DB)(nil)

// every is said by reads of more than a row: a session's sql_select_limit would
// cut them short, unnoticed, and an explicit limit wins over it.
const every = ` LIMIT 18446744073709551615`

// Find returns the record with ref, or [record.ErrNotFound].
func (db *DB) Find(ctx context.Context, ref string) (record.Record, error) {
	if !record.ValidRef(ref) {
		return record.Record{}, record.ErrNotFound
	}
	var rec record.Record
	err := db.reading(ctx, func(ctx context.Context, q runner) (err error) {
		rec, err = decode(q.QueryRowContext(ctx, `SELECT `+columns+`, r.body FROM refrain_record r WHERE r.ref = ? LIMIT 1`, encodeRef(ref)), true)
		return err
	})
	if errors.Is(err, sql.ErrNoRows) {
		err = record.ErrNotFound
	}
	return rec, err
}

// List returns records like the given one, newest first and without bodies.
func (db *DB) List(ctx context.Context, like record.Record, limit int) ([]record.Record, error) {
	var where []string
	var args []any
	agree := func(column, value string) {
		if value != "" {
			where, args = append(where, column+` = ?`), append(args, []byte(value))
		}
	}
	agree(`r.scope`, like.Identity.Scope)
	agree(`r.operation`, like.Identity.Operation)
	if like.State != 0 {
		where, args = append(where, `r.state = ?`), append(args, int64(like.State))
	}
	return db.records(ctx, where, `DESC`, limit, args...)
}

// records are those that all of where holds for, in the order of their
// insertion, without bodies.
func (db *DB) records(ctx context.Context, where []string, order string, limit int, args ...any) ([]record.Record, error) {
	if limit <= 0 {
		limit = 100
	}
	query := `SELECT ` + columns + ` FROM refrain_record r`
	if len(where) > 0 {
		query += ` WHERE ` + strings.Join(where, ` AND `)
	}
	var recs []record.Record
	err := db.reading(ctx, func(ctx context.Context, q runner) error {
		rows, err := q.QueryContext(ctx, query+` ORDER BY r.n `+order+` LIMIT ?`, append(args, min(limit, 1000))...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			rec, err := decode(rows, false)
			if err != nil {
				return fmt.Errorf("mysql: record %s: %w", rec.Ref, err)
			}
			recs = append(recs, rec)
		}
		return rows.Err()
	})
	return recs, err
}

// stands returns the store's time, for what was just read.
func (db *DB) stands(ctx context.Context) (now time.Time, err error) {
	err = db.reading(ctx, func(ctx context.Context, q runner) error {
		now, err = db.clock(ctx, q)
		return err
	})
	return now, err
}
