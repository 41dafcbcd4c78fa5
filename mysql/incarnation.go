package mysql

import (
	"context"
	"strings"

	"github.com/refrain-dev/refrain/upkeep"
)

// Incarnation reads which store this is.
func (db *DB) Incarnation(ctx context.Context) (is upkeep.Incarnation, err error) {
	err = db.reading(ctx, func(ctx context.Context, q runner) error {
		is, err = db.incarnation(ctx, q)
		return err
	})
	return is, err
}

// Advance raises the counter and returns the incarnation as committed.
func (db *DB) Advance(ctx context.Context) (is upkeep.Incarnation, err error) {
	err = db.writing(ctx, func(ctx context.Context, tx runner) error {
		err := db.waiting(ctx, func(ctx context.Context) error {
			_, err := tx.ExecContext(ctx, `UPDATE refrain_store SET counter = counter + 1 WHERE one = 1`)
			return err
		})
		if err == nil {
			is, err = db.incarnation(ctx, tx)
		}
		return err
	})
	if err != nil {
		return upkeep.Incarnation{}, err
	}
	return is, nil
}

func (db *DB) incarnation(ctx context.Context, q runner) (is upkeep.Incarnation, err error) {
	r, err := scanAny(q.QueryRowContext(ctx, `SELECT HEX(id), epoch, counter FROM refrain_store WHERE one = 1 LIMIT 1`), 3)
	if err != nil {
		return is, err
	}
	is = upkeep.Incarnation{Store: strings.ToLower(r.text(0)), Epoch: r.integer(1), Counter: r.integer(2)}
	is.At, err = db.clock(ctx, q)
	return is, err
}
