package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/refrain-dev/refrain/record"
)

var _ record.Store = (*DB)(nil)

// Find returns the record with ref, or [record.ErrNotFound].
func (db *DB) Find(ctx context.Context, ref string) (record.Record, error) {
	if !record.ValidRef(ref) {
		return record.Record{}, record.ErrNotFound
	}
	rec, err := find(ctx, db.readers, ref)
	return rec, migrated(err)
}

func find(ctx context.Context, q rower, ref string) (record.Record, error) {
	var c cells
	err := q.QueryRowContext(ctx, `SELECT `+columns+`, r.body FROM refrain_record r WHERE r.ref = ?`, ref).Scan(c.dest(true)...)
	if errors.Is(err, sql.ErrNoRows) {
		return record.Record{}, record.ErrNotFound
	}
	if err != nil {
		return record.Record{}, err
	}
	return c.record()
}

// Swap is the compare-and-swap of [record.Store].
func (db *DB) Swap(ctx context.Context, old, next record.Record) (record.Record, error) {
	if old.Ref != "" && (old.Ref != next.Ref || old.Identity != next.Identity) {
		return record.Record{}, errors.New("sqlite: Swap keeps ref and identity")
	}
	next.Version = old.Version + 1
	next.Format = record.Format
	err := db.writing(ctx, func(ctx context.Context, conn *sql.Conn) error {
		hash := next.Identity.Hash()
		if old.Ref == "" {
			found, err := lookup(ctx, conn, next.Identity, hash)
			if err == nil && found.Record != nil {
				err = record.ErrSwapped
			}
			if err != nil {
				return err
			}
		} else {
			err := one(conn.ExecContext(ctx, `DELETE FROM refrain_record WHERE hash = ? AND ref = ? AND version = ?`, hash[:], old.Ref, old.Version))
			if err != nil {
				return err
			}
		}
		return insert(ctx, conn, &next, hash)
	})
	if err != nil {
		return record.Record{}, err
	}
	return next, nil
}

// List returns records like the given one, newest first and without bodies.
func (db *DB) List(ctx context.Context, like record.Record, limit int) ([]record.Record, error) {
	if limit <= 0 {
		limit = 100
	}
	rows, err := db.readers.QueryContext(ctx, `SELECT `+columns+` FROM refrain_record r
		WHERE (?1 = '' OR r.scope = ?1) AND (?2 = '' OR r.operation = ?2) AND (?3 = 0 OR r.state = ?3)
		ORDER BY r.n DESC LIMIT ?4`, like.Identity.Scope, like.Identity.Operation, int(like.State), min(limit, 1000))
	if err != nil {
		return nil, migrated(err)
	}
	defer rows.Close()
	var recs []record.Record
	for rows.Next() {
		var c cells
		if err := rows.Scan(c.dest(false)...); err != nil {
			return nil, err
		}
		rec, err := c.record()
		if err != nil {
			return nil, fmt.Errorf("sqlite: record %s: %w", c.ref.String, err)
		}
		recs = append(recs, rec)
	}
	return recs, rows.Err()
}
