package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
)

// openAt opens a migrated engine on a known path.
func openAt(t testing.TB, path string, options ...Options) *DB {
	t.Helper()
	db, err := Open(path, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	createOrders(t, db)
	return db
}

// plain is a handle of the application's own on the same file.
func plain(t testing.TB, path string, pragmas ...string) *sql.DB {
	t.Helper()
	connector, err := connectorOf(path, "rw", pragmas...)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// lock takes the write lock as another process would.
func lock(t testing.TB, db *sql.DB) (unlock func()) {
	t.Helper()
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	return func() {
		_, err := conn.ExecContext(context.Background(), "ROLLBACK")
		if err := errors.Join(err, conn.Close()); err != nil {
			t.Error(err)
		}
	}
}

func TestBusy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shop.db")
	db := openAt(t, path, Options{Busy: 150 * time.Millisecond})
	if err := run(db, call("before"), put("before")); err != nil {
		t.Fatal(err)
	}
	unlock := lock(t, plain(t, path))
	runs := 0
	err := run(db, call("k"), counted(&runs, put("k")))
	wantRow(t, err, "9", refrain.ErrUnavailable)
	equal(t, "runs", runs, 0)
	if out, err := db.Execute(t.Context(), call("before"), put("before")); err != nil || !out.Replayed {
		t.Errorf("a replay while the database is locked: %+v, %v", out, err)
	}
	unlock()
	if err := run(db, call("k"), counted(&runs, put("k"))); err != nil {
		t.Error(err)
	}
	equal(t, "runs", runs, 1)
	wantItems(t, db, "before", "k")
}

func TestBusyInTime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shop.db")
	db := openAt(t, path, Options{Busy: time.Minute})
	unlock := lock(t, plain(t, path))
	refused := 0
	between(t, db, func(statement string, run func() error) error {
		err := run()
		if busy(err) {
			if refused++; refused == 2 {
				unlock()
			}
		}
		return err
	})
	if err := run(db, call("k"), put("k")); err != nil {
		t.Error(err)
	}
	equal(t, "refused", refused, 2)
	wantItems(t, db, "k")
}

// A deferred transaction that read before somebody else wrote can never write:
// the caller must run it again.
func TestLockUpgrade(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shop.db")
	db := openAt(t, path)
	conn, err := plain(t, path, "busy_timeout(5000)").Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	attempt := func(between func()) error {
		if _, err := conn.ExecContext(t.Context(), "BEGIN DEFERRED"); err != nil {
			t.Fatal(err)
		}
		defer conn.ExecContext(context.Background(), "ROLLBACK")
		var n int
		if err := conn.QueryRowContext(t.Context(), `SELECT count(*) FROM orders`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		between()
		_, err := db.ExecuteIn(t.Context(), conn, call("k"), put("k"))
		if err == nil {
			_, err = conn.ExecContext(t.Context(), "COMMIT")
		}
		return err
	}
	err = attempt(func() {
		if err := run(db, call("faster"), put("faster")); err != nil {
			t.Error(err)
		}
	})
	if !errors.Is(err, refrain.ErrRetryTransaction) {
		t.Errorf("%v, want ErrRetryTransaction", err)
	}
	wantItems(t, db, "faster")
	if err := attempt(func() {}); err != nil {
		t.Error(err)
	}
	wantItems(t, db, "faster", "k")
}
