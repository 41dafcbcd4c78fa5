package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"

	"github.com/refrain-dev/refrain"
)

// ways are all the ways a statement reaches the connection.
var ways = map[string]func(context.Context, Tx, string) error{
	"Exec": func(ctx context.Context, tx Tx, query string) error {
		_, err := tx.ExecContext(ctx, query)
		return err
	},
	"Query": func(ctx context.Context, tx Tx, query string) error {
		rows, err := tx.QueryContext(ctx, query)
		if err != nil {
			return err
		}
		for rows.Next() {
		}
		return errors.Join(rows.Err(), rows.Close())
	},
	"QueryRow": func(ctx context.Context, tx Tx, query string) error {
		var v any
		err := tx.QueryRowContext(ctx, query).Scan(&v)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		return err
	},
	"Prepare": func(ctx context.Context, tx Tx, query string) error {
		stmt, err := tx.PrepareContext(ctx, query)
		if err != nil {
			return err
		}
		defer stmt.Close()
		_, err = stmt.ExecContext(ctx)
		return err
	},
	"background": func(_ context.Context, tx Tx, query string) error {
		_, err := tx.ExecContext(context.Background(), query)
		return err
	},
}

// forbidden are statements that are not an effect's, the engine's own texts
// among them.
var forbidden = []string{
	"COMMIT", "commit;", "/* x */ commit", "-- x\nCOMMIT", ";;ROLLBACK", "END", "END TRANSACTION", "ROLLBACK",
	"BEGIN", "BEGIN IMMEDIATE", "SAVEPOINT mine", "SAVEPOINT refrain", "RELEASE refrain", "ROLLBACK TO refrain",
	"ROLLBACK TRANSACTION TO SAVEPOINT refrain",
	"CREATE TABLE t (a)", "CREATE TEMP TABLE t (a)", "CREATE TABLE t AS SELECT 1", "DROP TABLE orders", "CREATE INDEX i ON orders (item)",
	"ALTER TABLE orders ADD COLUMN b", "CREATE TRIGGER t AFTER INSERT ON orders BEGIN SELECT 1; END", "CREATE VIEW v AS SELECT 1",
	"ATTACH ':memory:' AS other", "DETACH main", "REINDEX", "ANALYZE",
	"PRAGMA foreign_keys=OFF", "PRAGMA synchronous(0)", "PRAGMA main.journal_mode=DELETE", "PRAGMA defer_foreign_keys=ON",
	"PRAGMA writable_schema=ON", "PRAGMA user_version=7", "PRAGMA max_page_count=10",
	"DELETE FROM refrain_record", "UPDATE Refrain_Operation SET horizon = NULL", "DELETE FROM main.refrain_fence WHERE 1",
	"INSERT INTO refrain_allow VALUES (x'00','','','','','',0)", "UPDATE refrain_schema SET version = 9",
}

// multiple run more than one statement; only Exec takes them.
var multiple = []string{
	"INSERT INTO orders (item) VALUES ('half'); COMMIT",
	"SELECT 1; /* */ END; BEGIN",
	"INSERT INTO orders (item) VALUES ('half'); ROLLBACK; BEGIN IMMEDIATE",
	"INSERT INTO orders (item) VALUES ('half'); DROP TABLE orders",
}

func TestForbidden(t *testing.T) {
	db := openShop(t)
	if err := run(db, call("victim"), put("victim")); err != nil {
		t.Fatal(err)
	}
	for how, way := range ways {
		statements := forbidden
		if how == "Exec" {
			statements = append(statements[:len(statements):len(statements)], multiple...)
		}
		for i, statement := range statements {
			for _, swallow := range []bool{false, true} {
				c := call(fmt.Sprint(how, i, swallow))
				err := run(db, c, func(ctx context.Context, tx Tx) (refrain.Result, error) {
					if _, err := put("before")(ctx, tx); err != nil {
						return done, err
					}
					err := way(ctx, tx, statement)
					if err == nil {
						t.Errorf("%s %q: no error", how, statement)
					}
					if _, after := put("after")(ctx, tx); after == nil {
						t.Errorf("%s %q: the handle works after it", how, statement)
					}
					if swallow {
						err = nil
					}
					return done, err
				})
				if !errors.Is(err, refrain.ErrOwned) || !errors.Is(err, refrain.ErrEffectFailed) {
					t.Errorf("%s %q, swallowed %t: %v, want ErrOwned", how, statement, swallow, err)
				}
				wantReceipt(t, db, c, false)
			}
		}
	}
	wantItems(t, db, "victim")
	wantReceipt(t, db, call("victim"), true)
	wantUsable(t, db)
}

// What the application's own work prepared is not an effect's to run.
func TestForbiddenText(t *testing.T) {
	db := openShop(t)
	if err := run(db, call("victim"), put("victim")); err != nil {
		t.Fatal(err)
	}
	const text = `DELETE FROM refrain_record WHERE n > ?`
	err := db.Update(t.Context(), func(ctx context.Context, tx Tx) error {
		_, err := tx.ExecContext(ctx, text, 1000)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	err = run(db, call("k"), func(ctx context.Context, tx Tx) (refrain.Result, error) {
		_, _ = tx.ExecContext(ctx, text, 0)
		return done, nil
	})
	if !errors.Is(err, refrain.ErrOwned) {
		t.Errorf("%v, want ErrOwned", err)
	}
	wantReceipt(t, db, call("victim"), true)
}

// A forbidden statement costs its own member alone.
func TestForbiddenInGroup(t *testing.T) {
	db := openShop(t)
	statements := trace(t, db)
	var errs [3]error
	var runs [3]int
	together(t, db,
		func() { errs[0] = run(db, call("a"), counted(&runs[0], put("a"))) },
		func() {
			errs[1] = run(db, call("b"), counted(&runs[1], func(ctx context.Context, tx Tx) (refrain.Result, error) {
				_, _ = put("b")(ctx, tx)
				_, _ = tx.ExecContext(ctx, "ROLLBACK")
				return done, nil
			}))
		},
		func() { errs[2] = run(db, call("c"), counted(&runs[2], put("c"))) },
	)
	if errs[0] != nil || errs[2] != nil || !errors.Is(errs[1], refrain.ErrOwned) {
		t.Errorf("errors %v", errs)
	}
	equal(t, "runs", runs, [3]int{1, 1, 1})
	wantItems(t, db, "a", "c")
	equal(t, "statements", (*statements)[3:], []string{"COMMIT", "BEGIN IMMEDIATE",
		"SAVEPOINT refrain", "RELEASE refrain", "SAVEPOINT refrain", "ROLLBACK TO refrain", "RELEASE refrain",
		"SAVEPOINT refrain", "RELEASE refrain", "COMMIT"})
}

func TestPermitted(t *testing.T) {
	db := openShop(t)
	err := db.Setup(t.Context(),
		`CREATE TABLE lines (id INTEGER PRIMARY KEY, order_id INTEGER REFERENCES orders, doc TEXT)`,
		`CREATE TRIGGER line AFTER INSERT ON orders BEGIN INSERT INTO lines (order_id) VALUES (new.id); END`)
	if err != nil {
		t.Fatal(err)
	}
	err = run(db, call("k"), func(ctx context.Context, tx Tx) (refrain.Result, error) {
		for _, statement := range []string{
			"INSERT INTO orders (item) VALUES ('a') RETURNING id",
			"INSERT INTO orders (item) SELECT item FROM orders",
			"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 3) INSERT INTO orders (item) SELECT i FROM n",
			"UPDATE orders SET item = upper(item)",
			"REPLACE INTO orders (id, item) VALUES (99, 'b')",
			"DELETE FROM lines WHERE order_id = 99", "DELETE FROM orders WHERE id = 99",
			"PRAGMA table_info(orders)", "PRAGMA foreign_keys", "PRAGMA user_version",
			"SELECT count(*) FROM refrain_record",
		} {
			for _, how := range []string{"Exec", "Query"} {
				if err := ways[how](ctx, tx, statement); err != nil {
					return done, fmt.Errorf("%s %q: %w", how, statement, err)
				}
			}
		}
		return done, nil
	})
	if err != nil {
		t.Error(err)
	}
}
