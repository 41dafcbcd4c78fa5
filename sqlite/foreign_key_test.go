package sqlite

import (
	"context"
	"errors"
	"testing"

	"github.com/refrain-dev/refrain"
)

// line orders something by the id of an order, which may come later.
func line(order int) effect {
	return func(ctx context.Context, tx Tx) (refrain.Result, error) {
		_, err := tx.ExecContext(ctx, `INSERT INTO lines (order_id) VALUES (?)`, order)
		return done, err
	}
}

func openLines(t *testing.T) *DB {
	db := openShop(t)
	err := db.Setup(t.Context(), `CREATE TABLE lines (order_id INTEGER NOT NULL REFERENCES orders DEFERRABLE INITIALLY DEFERRED)`)
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// A deferred foreign key passes RELEASE and would fail the COMMIT of the group.
func TestDeferredForeignKey(t *testing.T) {
	db := openLines(t)
	statements := trace(t, db)
	var errs [4]error
	var runs [4]int
	together(t, db,
		func() { errs[0] = run(db, call("a"), counted(&runs[0], put("a"))) },
		func() { errs[1] = run(db, call("violated"), counted(&runs[1], line(7))) },
		func() {
			errs[2] = run(db, call("satisfied"), counted(&runs[2], func(ctx context.Context, tx Tx) (refrain.Result, error) {
				if _, err := line(8)(ctx, tx); err != nil {
					return done, err
				}
				_, err := tx.ExecContext(ctx, `INSERT INTO orders (id, item) VALUES (8, 'later')`)
				return done, err
			}))
		},
		func() { errs[3] = run(db, call("c"), counted(&runs[3], put("c"))) },
	)
	if err := errors.Join(errs[0], errs[2], errs[3]); err != nil {
		t.Errorf("neighbours: %v", err)
	}
	wantRow(t, errs[1], "", refrain.ErrEffectFailed)
	equal(t, "runs", runs, [4]int{1, 1, 1, 1})
	equal(t, "groups", count(*statements, "COMMIT"), 2) // the one that held the writer, and theirs
	wantItems(t, db, "a", "c", "later")
	wantReceipt(t, db, call("violated"), false)
	wantReceipt(t, db, call("satisfied"), true)
}

// It is the effect that failed also for a result that is rejected in passing.
func TestDeferredForeignKeyRejected(t *testing.T) {
	db := openLines(t)
	err := run(db, call("k"), func(ctx context.Context, tx Tx) (refrain.Result, error) {
		_, err := line(7)(ctx, tx)
		return refrain.Result{Rejected: true, Body: []byte(`"no"`)}, err
	})
	if err != nil { // its writes are undone, the violation with them
		t.Error(err)
	}
	wantReceipt(t, db, call("k"), true)
}

func count(all []string, one string) (n int) {
	for _, s := range all {
		if s == one {
			n++
		}
	}
	return n
}
