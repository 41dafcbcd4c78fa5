package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

var _ upkeep.Keeper = (*DB)(nil)

// Find returns the record with ref, or [record.ErrNotFound].
func (db *DB) Find(ctx context.Context, ref string) (record.Record, error) {
	if !record.ValidRef(ref) {
		return record.Record{}, record.ErrNotFound
	}
	rec, err := find(ctx, db.lookups, ref)
	return rec, migrated(err)
}

func find(ctx context.Context, q runner, ref string) (rec record.Record, err error) {
	err = q.row(ctx, `SELECT `+columns+`, r.body FROM refrain_record r WHERE r.ref = ?`, func(r row) error {
		rec, err = decode(r, 0, true)
		return err
	}, ref)
	if errors.Is(err, sql.ErrNoRows) {
		err = record.ErrNotFound
	}
	return rec, err
}

// Swap is the compare-and-swap of [record.Store].
func (db *DB) Swap(ctx context.Context, old, next record.Record) (record.Record, error) {
	if old.Ref != "" && (old.Ref != next.Ref || old.Identity != next.Identity) {
		return record.Record{}, errors.New("sqlite: Swap keeps ref and identity")
	}
	next.Version = old.Version + 1
	next.Format = record.Format
	err := db.writing(ctx, func(ctx context.Context, s *session) error {
		hash := next.Identity.Hash()
		if old.Ref == "" {
			found, err := lookup(ctx, s.run, next.Identity, hash)
			if err == nil && found.Record != nil {
				err = record.ErrSwapped
			}
			if err != nil {
				return err
			}
		} else {
			if err := remove(ctx, s.run, &old, hash); err != nil {
				return err
			}
		}
		return insert(ctx, s.run, &next, hash)
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
		ORDER BY r.ref DESC LIMIT ?4`, like.Identity.Scope, like.Identity.Operation, int(like.State), min(limit, 1000))
	if err != nil {
		return nil, migrated(err)
	}
	defer rows.Close()
	var recs []record.Record
	for rows.Next() {
		r, err := scanAny(rows)
		if err != nil {
			return nil, err
		}
		rec, err := decode(r, 0, false)
		if err != nil {
			return nil, fmt.Errorf("sqlite: record %s: %w", rec.Ref, err)
		}
		recs = append(recs, rec)
	}
	// Refs of one millisecond are in no order.
	slices.SortStableFunc(recs, func(a, b record.Record) int { return b.Created.Compare(a.Created) })
	return recs, rows.Err()
}
