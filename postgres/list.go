package postgres

import (
	"context"
	"fmt"

	"github.com/refrain-dev/refrain/record"
)

var listText = `SELECT ` + bodilessText + ` FROM {schema}.record r
WHERE ($1::text = '' OR r.scope = $1::text) AND ($2::text = '' OR r.operation = $2::text) AND ($3::int8 = 0 OR r.state = $3::int8)
ORDER BY r.ref DESC LIMIT $4::int8`

// List returns records like the given one, newest first and without bodies.
func (s *Store) List(ctx context.Context, like record.Record, limit int) ([]record.Record, error) {
	recs, err := s.list(ctx, s.read, s.sql.text(listText),
		like.Identity.Scope, like.Identity.Operation, int64(like.State), capped(limit))
	return recs, migrated(err)
}

// list reads records without their bodies.
func (s *Store) list(ctx context.Context, q runner, query string, args ...any) (recs []record.Record, err error) {
	err = each(ctx, q, func(row scanner) error {
		var whole []byte
		if err := row.Scan(&whole); err != nil {
			return err
		}
		r, err := split(whole)
		if err != nil {
			return err
		}
		rec, err := r.decode(r.identity())
		if err != nil {
			return fmt.Errorf("postgres: record %s: %w", unpackRef(r[colRef]), err)
		}
		recs = append(recs, *rec)
		return nil
	}, query, args...)
	return recs, err
}

// capped is the limit of a list: 0 means 100, at most 1,000.
func capped(limit int) int64 {
	if limit <= 0 {
		limit = 100
	}
	return int64(min(limit, 1000))
}
