package mysql

import (
	"context"
	"errors"
	"testing"

	"github.com/refrain-dev/refrain"
)

// What a stored procedure does no keyword shows. A transaction it ended leaves
// no receipt, and nothing the effect wrote after it commits with one.
func TestMarkerGone(t *testing.T) {
	s := newShop(t)
	must(t, s.raw,
		`CREATE TABLE other (id INT)`,
		`CREATE PROCEDURE commits() COMMIT`,
		`CREATE PROCEDURE begins() BEGIN COMMIT; START TRANSACTION; SAVEPOINT refrain; END`,
		`CREATE PROCEDURE rolls() ROLLBACK`,
		`CREATE PROCEDURE alters() ALTER TABLE other COMMENT = 'altered'`)
	for name, open := range kinds {
		db := open(t, s.cfg, Options{})
		for _, known := range []bool{false, true} { // an operation's first record takes a way of its own
			if known {
				usable(t, db)
				must(t, s.raw, `DELETE FROM refrain_record`)
			}
			markerGone(t, s, name, db)
		}
		usable(t, db)
		must(t, s.raw, `DELETE FROM refrain_record`, `DELETE FROM refrain_operation`)
	}
}

func markerGone(t *testing.T, s shop, name string, db *DB) {
	t.Helper()
	for _, procedure := range []string{"commits", "begins", "rolls", "alters"} {
		for _, rejects := range []bool{false, true} {
			err := run(db, "k", func(ctx context.Context, tx Tx) (refrain.Result, error) {
				if _, err := tx.ExecContext(ctx, "CALL "+procedure+"()"); err != nil {
					return made, err
				}
				return refrain.Result{Rejected: rejects}, nil
			})
			if !errors.Is(err, errGone) {
				t.Errorf("%s: after %s: %v, want %v", name, procedure, err, errGone)
			}
		}
	}
	s.receipts(t, 0)
}

// A session in which a unique key may go unchecked writes no record.
func TestUniqueChecksOff(t *testing.T) {
	s := newShop(t)
	must(t, s.raw, `CREATE PROCEDURE unchecks() SET SESSION unique_checks = 0`)
	for name, open := range kinds {
		db := open(t, s.cfg, Options{})
		err := run(db, "k", func(ctx context.Context, tx Tx) (refrain.Result, error) {
			_, err := tx.ExecContext(ctx, "CALL unchecks()")
			return made, err
		})
		if !errors.Is(err, errMoved) {
			t.Errorf("%s: %v, want %v", name, err, errMoved)
		}
		s.receipts(t, 0)
	}
}
