package sqlite

import (
	"context"
	"encoding/hex"

	"github.com/refrain-dev/refrain/upkeep"
)

// Incarnation implements [upkeep.Retention].
func (db *DB) Incarnation(ctx context.Context) (upkeep.Incarnation, error) {
	is, err := db.incarnation(ctx, db.lookups, `SELECT id, epoch, counter FROM refrain_store`)
	return is, migrated(err)
}

// Advance implements [upkeep.Retention]. It shares its transaction with other
// callers.
func (db *DB) Advance(ctx context.Context) (is upkeep.Incarnation, err error) {
	err = db.write(ctx, false, func(ctx context.Context, s *session) (err error) {
		is, err = db.incarnation(ctx, s.run, `UPDATE refrain_store SET counter = counter + 1 RETURNING id, epoch, counter`)
		return err
	})
	if err != nil {
		return upkeep.Incarnation{}, err
	}
	return is, nil
}

func (db *DB) incarnation(ctx context.Context, q runner, query string) (is upkeep.Incarnation, err error) {
	err = q.row(ctx, query, func(r row) error {
		is = upkeep.Incarnation{Store: hex.EncodeToString(r.blob(0)), Epoch: r.integer(1), Counter: r.integer(2)}
		return nil
	})
	is.At = db.opts.Now()
	return is, err
}
