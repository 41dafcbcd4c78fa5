package sqlite

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/refrain-dev/refrain"
)

// An ordinary constraint error undoes its statement alone: an effect may go on.
func TestSwallowedConstraint(t *testing.T) {
	db := openShop(t)
	err := run(db, call("k"), func(ctx context.Context, tx Tx) (refrain.Result, error) {
		_, err := tx.ExecContext(ctx, `INSERT INTO orders (item) VALUES (NULL)`)
		if !errors.Is(err, sqlite3.CONSTRAINT) {
			t.Errorf("NOT NULL: %v", err)
		}
		return put("instead")(ctx, tx)
	})
	if err != nil {
		t.Error(err)
	}
	wantItems(t, db, "instead")
	wantReceipt(t, db, call("k"), true)
}

// limitPages makes the database full on the writer's connection, until lifted.
func limitPages(t *testing.T, db *DB) (lift func()) {
	limit := "PRAGMA max_page_count=1" // the least it can be is the present size
	between(t, db, func(statement string, run func() error) error {
		err := run()
		if statement == "BEGIN IMMEDIATE" && err == nil {
			_, err = db.writer.run.exec(context.Background(), limit)
		}
		return err
	})
	return func() { limit = "PRAGMA max_page_count=1000000" }
}

// fill needs many pages and swallows the error of a full disk.
func fill(ctx context.Context, tx Tx) (refrain.Result, error) {
	_, err := tx.ExecContext(ctx, `INSERT INTO orders (item) VALUES (?)`, strings.Repeat("x", 1<<20))
	if !errors.Is(err, sqlite3.FULL) {
		return done, errors.Join(errors.New("not full"), err)
	}
	_, _ = tx.ExecContext(ctx, `INSERT INTO orders (item) VALUES ('half')`)
	return done, nil
}

func TestSwallowedFull(t *testing.T) {
	db := openShop(t)
	lift := limitPages(t, db)
	err := run(db, call("k"), fill)
	wantRow(t, err, "9", refrain.ErrUnavailable)
	if !errors.Is(err, sqlite3.FULL) {
		t.Errorf("%v does not say FULL", err)
	}
	wantItems(t, db)
	lift()
	if err := run(db, call("k"), put("later")); err != nil {
		t.Error(err)
	}
	wantItems(t, db, "later")
}

func TestFullInGroup(t *testing.T) {
	db := openShop(t)
	lift := limitPages(t, db)
	defer lift()
	var errs [3]error
	together(t, db,
		func() { errs[0] = run(db, call("a"), put("a")) },
		func() { errs[1] = run(db, named("fill", "b"), fill) },
		func() { errs[2] = run(db, call("c"), put("c")) },
	)
	if errs[0] != nil || errs[2] != nil {
		t.Errorf("neighbours: %v, %v", errs[0], errs[2])
	}
	wantRow(t, errs[1], "9", refrain.ErrUnavailable)
	wantItems(t, db, "a", "c")
}

// orRollback ends the whole transaction and swallows the error.
func orRollback(ctx context.Context, tx Tx) (refrain.Result, error) {
	if _, err := put("half")(ctx, tx); err != nil {
		return done, err
	}
	_, err := tx.ExecContext(ctx, `INSERT OR ROLLBACK INTO orders (id, item) VALUES (1, 'x'), (1, 'x')`)
	if !errors.Is(err, sqlite3.CONSTRAINT) {
		return done, errors.Join(errors.New("no conflict"), err)
	}
	if _, err := put("alone")(ctx, tx); err == nil {
		return done, errors.New("a statement ran outside of the transaction")
	}
	return done, nil
}

func TestOrRollback(t *testing.T) {
	for _, prepared := range []bool{false, true} {
		db := openShop(t)
		err := run(db, call("k"), func(ctx context.Context, tx Tx) (refrain.Result, error) {
			if !prepared {
				return orRollback(ctx, tx)
			}
			stmt, err := tx.PrepareContext(ctx, `INSERT OR ROLLBACK INTO orders (id, item) VALUES (1, 'x'), (1, 'x')`)
			if err != nil {
				return done, err
			}
			defer stmt.Close()
			_, _ = stmt.ExecContext(ctx)
			_, _ = put("alone")(ctx, tx)
			return done, nil
		})
		wantRow(t, err, "", refrain.ErrEffectFailed)
		if !errors.Is(err, errGone) {
			t.Errorf("%v does not say what happened", err)
		}
		wantItems(t, db)
		wantReceipt(t, db, call("k"), false)
		wantUsable(t, db)
	}
}

// A member that rolls the group back costs its neighbours a second run, alone.
func TestOrRollbackInGroup(t *testing.T) {
	db := openShop(t)
	var errs [3]error
	var runs [3]int
	together(t, db,
		func() { errs[0] = run(db, call("a"), counted(&runs[0], put("a"))) },
		func() { errs[1] = run(db, named("rollback", "b"), counted(&runs[1], orRollback)) },
		func() { errs[2] = run(db, call("c"), counted(&runs[2], put("c"))) },
	)
	if errs[0] != nil || errs[2] != nil {
		t.Errorf("neighbours: %v, %v", errs[0], errs[2])
	}
	wantRow(t, errs[1], "", refrain.ErrEffectFailed)
	equal(t, "runs", runs, [3]int{2, 2, 1})
	wantItems(t, db, "a", "c")
	wantReceipt(t, db, named("rollback", "b"), false)

	// For a while its operation goes alone, so it costs nobody anything.
	runs = [3]int{}
	together(t, db,
		func() { errs[0] = run(db, call("d"), counted(&runs[0], put("d"))) },
		func() { errs[1] = run(db, named("rollback", "e"), counted(&runs[1], orRollback)) },
		func() { errs[2] = run(db, call("f"), counted(&runs[2], put("f"))) },
	)
	equal(t, "runs", runs, [3]int{1, 1, 1})
	wantItems(t, db, "a", "c", "d", "f")
}

// A statement that was refused because the caller is gone, and swallowed, is
// half an effect; so are rows that ended early.
func TestSwallowedCancellation(t *testing.T) {
	tests := map[string]func(ctx context.Context, tx Tx, cancel func()) error{
		"Exec": func(ctx context.Context, tx Tx, cancel func()) error {
			cancel()
			_, err := tx.ExecContext(ctx, `INSERT INTO orders (item) VALUES ('second')`)
			return err
		},
		"Rows": func(ctx context.Context, tx Tx, cancel func()) error {
			rows, err := tx.QueryContext(ctx, `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT i FROM n`)
			if err != nil {
				return nil
			}
			cancel()
			for rows.Next() { // until database/sql notices
			}
			return rows.Err()
		},
	}
	for name, cut := range tests {
		t.Run(name, func(t *testing.T) {
			db := openShop(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			_, err := db.Execute(ctx, call("k"), func(ctx context.Context, tx Tx) (refrain.Result, error) {
				if _, err := put("first")(ctx, tx); err != nil {
					return done, err
				}
				if err := cut(ctx, tx, cancel); !errors.Is(err, context.Canceled) {
					t.Errorf("the statement: %v", err)
				}
				return done, nil
			})
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%v, want the cancellation", err)
			}
			wantItems(t, db)
			wantReceipt(t, db, call("k"), false)
		})
	}
}

// A deadline of the effect's own is its own business.
func TestOwnDeadline(t *testing.T) {
	db := openShop(t)
	err := run(db, call("k"), func(ctx context.Context, tx Tx) (refrain.Result, error) {
		short, cancel := context.WithCancel(ctx)
		cancel()
		if _, err := put("too late")(short, tx); !errors.Is(err, context.Canceled) {
			t.Errorf("the statement: %v", err)
		}
		return put("instead")(ctx, tx)
	})
	if err != nil {
		t.Error(err)
	}
	wantItems(t, db, "instead")
}

// A disk that is full when the record is written is no fault of the effect.
func TestFullRecord(t *testing.T) {
	db := openShop(t)
	lift := limitPages(t, db)
	long := func(context.Context, Tx) (refrain.Result, error) {
		return refrain.Result{Body: make([]byte, 1<<19)}, nil
	}
	wantRow(t, run(db, call("k"), long), "9", refrain.ErrUnavailable)
	lift()
	if err := run(db, call("k"), long); err != nil {
		t.Error(err)
	}
}
