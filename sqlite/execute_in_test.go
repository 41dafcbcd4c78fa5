package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"testing"

	"github.com/refrain-dev/refrain"
)

// joinable opens an engine and a handle of the application's own.
func joinable(t *testing.T) (*DB, *sql.DB) {
	path := filepath.Join(t.TempDir(), "shop.db")
	return openAt(t, path), plain(t, path, "busy_timeout(5000)", "foreign_keys(ON)")
}

func begin(t *testing.T, pool *sql.DB) *sql.Tx {
	t.Helper()
	tx, err := pool.BeginTx(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback() })
	return tx
}

func add(t *testing.T, tx Tx, item string) {
	t.Helper()
	if _, err := put(item)(t.Context(), tx); err != nil {
		t.Fatal(err)
	}
}

// The receipt is the transaction's: it commits or rolls back with it.
func TestExecuteIn(t *testing.T) {
	db, pool := joinable(t)
	runs := 0
	for _, commit := range []bool{false, true} {
		tx := begin(t, pool)
		add(t, tx, "before")
		out, err := db.ExecuteIn(t.Context(), tx, call("k"), counted(&runs, put("k")))
		if err != nil || out.Replayed {
			t.Fatalf("%+v, %v", out, err)
		}
		again, err := db.ExecuteIn(t.Context(), tx, call("k"), counted(&runs, put("k")))
		if err != nil || !again.Replayed || again.Ref != out.Ref {
			t.Errorf("in the same transaction: %+v, %v", again, err)
		}
		wantReceipt(t, db, call("k"), false) // nobody else sees it yet
		end := tx.Rollback
		if commit {
			end = tx.Commit
		}
		if err := end(); err != nil {
			t.Fatal(err)
		}
		wantReceipt(t, db, call("k"), commit)
	}
	equal(t, "runs", runs, 2)
	wantItems(t, db, "before", "k")
}

// A failed effect is undone alone; the caller's transaction goes on.
func TestExecuteInFails(t *testing.T) {
	failures := map[string]effect{
		"error": func(ctx context.Context, tx Tx) (refrain.Result, error) {
			_, _ = put("half")(ctx, tx)
			return done, errors.New("no")
		},
		"too large": func(ctx context.Context, tx Tx) (refrain.Result, error) {
			_, _ = put("half")(ctx, tx)
			return refrain.Result{Body: make([]byte, refrain.DefaultMaxResponse+1)}, nil
		},
		"panic": func(ctx context.Context, tx Tx) (refrain.Result, error) {
			_, _ = put("half")(ctx, tx)
			panic("leave")
		},
	}
	for name, fail := range failures {
		t.Run(name, func(t *testing.T) {
			db, pool := joinable(t)
			tx := begin(t, pool)
			add(t, tx, "before")
			if _, err := tx.Exec("SAVEPOINT mine"); err != nil {
				t.Fatal(err)
			}
			add(t, tx, "inside")
			func() {
				defer func() { _ = recover() }()
				if _, err := db.ExecuteIn(t.Context(), tx, call("k"), fail); err == nil {
					t.Error("no error")
				}
			}()
			add(t, tx, "after")
			if _, err := tx.Exec("ROLLBACK TO mine"); err != nil { // the caller's own savepoint still stands
				t.Error(err)
			}
			add(t, tx, "last")
			if err := tx.Commit(); err != nil {
				t.Error(err)
			}
			wantItems(t, db, "before", "last")
			wantReceipt(t, db, call("k"), false)
		})
	}
}

// Inside a savepoint of the caller's the record goes with it.
func TestExecuteInSavepoint(t *testing.T) {
	db, pool := joinable(t)
	tx := begin(t, pool)
	for _, statement := range []string{"SAVEPOINT mine", "", "ROLLBACK TO mine"} {
		if statement == "" {
			if _, err := db.ExecuteIn(t.Context(), tx, call("k"), put("k")); err != nil {
				t.Error(err)
			}
			continue
		}
		if _, err := tx.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	if err := tx.Commit(); err != nil {
		t.Error(err)
	}
	wantItems(t, db)
	wantReceipt(t, db, call("k"), false)
}

// A rejection undoes the effect's writes and keeps its receipt.
func TestExecuteInRejected(t *testing.T) {
	db, pool := joinable(t)
	tx := begin(t, pool)
	add(t, tx, "before")
	_, err := db.ExecuteIn(t.Context(), tx, call("k"), func(ctx context.Context, tx Tx) (refrain.Result, error) {
		_, err := put("half")(ctx, tx)
		return refrain.Result{Rejected: true, Body: []byte(`"no"`)}, err
	})
	if err := errors.Join(err, tx.Commit()); err != nil {
		t.Error(err)
	}
	wantItems(t, db, "before")
	wantReceipt(t, db, call("k"), true)
}

// An effect that rolled the transaction back is told, whether or not it told
// itself: outside of a transaction the record would commit alone, and so would
// whatever the caller writes next.
func TestExecuteInRolledBack(t *testing.T) {
	ends := map[string]func(context.Context, Tx) error{
		"conflict": func(ctx context.Context, tx Tx) error {
			_, err := tx.ExecContext(ctx, `INSERT OR ROLLBACK INTO orders (id, item) VALUES (1, 'x'), (1, 'x')`)
			return err
		},
		"verb": func(ctx context.Context, tx Tx) error {
			_, err := tx.ExecContext(ctx, `ROLLBACK`)
			return err
		},
		"restarted": func(ctx context.Context, tx Tx) error {
			_, err := tx.ExecContext(ctx, `ROLLBACK; BEGIN IMMEDIATE`)
			return err
		},
	}
	for name, end := range ends {
		for _, swallow := range []bool{true, false} {
			db, pool := joinable(t)
			tx := begin(t, pool)
			add(t, tx, "before")
			_, err := db.ExecuteIn(t.Context(), tx, call("k"), func(ctx context.Context, tx Tx) (refrain.Result, error) {
				_, _ = put("half")(ctx, tx)
				err := end(ctx, tx)
				if swallow {
					err = nil
				}
				return done, err
			})
			if (swallow || name == "conflict") && !errors.Is(err, errGone) {
				t.Errorf("%s, swallowed %t: %v, want errGone", name, swallow, err)
			}
			_ = tx.Rollback()
			wantReceipt(t, db, call("k"), false)
			wantItems(t, db)
		}
	}
}

func TestNested(t *testing.T) {
	db, pool := joinable(t)
	inner := func(ctx context.Context) {
		if _, err := db.Execute(ctx, call("inner"), put("inner")); !errors.Is(err, refrain.ErrNested) {
			t.Errorf("Execute: %v, want ErrNested", err)
		}
	}
	err := run(db, call("outer"), func(ctx context.Context, tx Tx) (refrain.Result, error) {
		inner(ctx)
		if _, err := db.ExecuteIn(ctx, tx, call("inner"), put("inner")); !errors.Is(err, refrain.ErrNested) {
			t.Errorf("ExecuteIn: %v, want ErrNested", err)
		}
		return put("outer")(ctx, tx)
	})
	if err != nil {
		t.Error(err)
	}
	tx := begin(t, pool)
	_, err = db.ExecuteIn(t.Context(), tx, call("joined"), func(ctx context.Context, tx Tx) (refrain.Result, error) {
		inner(ctx)
		return put("joined")(ctx, tx)
	})
	if err := errors.Join(err, tx.Commit()); err != nil {
		t.Error(err)
	}
	wantItems(t, db, "outer", "joined")
}

// Inside Update the record lies beside other work on the writer.
func TestExecuteInUpdate(t *testing.T) {
	db := openShop(t)
	for _, fail := range []error{errors.New("no"), nil} {
		err := db.Update(t.Context(), func(ctx context.Context, tx Tx) error {
			add(t, tx, "beside")
			_, err := db.ExecuteIn(ctx, tx, call("k"), put("k"))
			return errors.Join(err, fail)
		})
		if !errors.Is(err, fail) {
			t.Error(err)
		}
		wantReceipt(t, db, call("k"), fail == nil)
	}
	wantItems(t, db, "beside", "k")
}

// Update may do what an effect may not, except to end the transaction.
func TestUpdateOwned(t *testing.T) {
	db := openShop(t)
	for _, statement := range []string{"COMMIT", "/* */ END", "ROLLBACK"} {
		var kept Tx
		err := db.Update(t.Context(), func(ctx context.Context, tx Tx) error {
			kept = tx
			add(t, tx, "half")
			_, _ = tx.ExecContext(ctx, statement)
			_, _ = tx.QueryContext(context.Background(), endless) // left open
			return nil
		})
		if !errors.Is(err, refrain.ErrOwned) {
			t.Errorf("%s: %v, want ErrOwned", statement, err)
		}
		if _, err := put("late")(t.Context(), kept); !errors.Is(err, sql.ErrTxDone) {
			t.Errorf("afterwards: %v, want sql.ErrTxDone", err)
		}
	}
	wantItems(t, db)
}
