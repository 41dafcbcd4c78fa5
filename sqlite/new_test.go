package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3/driver"

	"github.com/refrain-dev/refrain"
)

// openHandle opens a handle as an application has one.
func openHandle(t *testing.T, pragmas ...string) *sql.DB {
	t.Helper()
	path := filepath.Join(t.TempDir(), "shop.db")
	pool, err := driver.Open(source(path, "rwc", append([]string{"busy_timeout(5000)", "foreign_keys(ON)"}, pragmas...)...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
	})
	return pool
}

// onHandle makes an engine on a handle with a single connection.
func onHandle(t *testing.T, options ...Options) (*DB, *sql.DB) {
	t.Helper()
	pool := openHandle(t, "journal_mode(WAL)", "synchronous(FULL)")
	pool.SetMaxOpenConns(1)
	db, err := New(pool, options...)
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
	return db, pool
}

func TestNew(t *testing.T) {
	db, pool := onHandle(t)
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			key := fmt.Sprint(i % 5)
			if err := run(db, call(key), put(key)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	quiet(t, db)
	if n := pool.Stats().InUse; n != 0 {
		t.Errorf("%d connections are kept", n)
	}
	wantItems(t, db, "0", "1", "2", "3", "4")
	err := run(db, call("failed"), func(ctx context.Context, tx Tx) (refrain.Result, error) {
		_, err := put("half")(ctx, tx)
		return done, errors.Join(err, errors.New("no"))
	})
	wantRow(t, err, "", refrain.ErrEffectFailed)
	quiet(t, db)
	wantItems(t, db, "0", "1", "2", "3", "4")
}

func TestNewRefuses(t *testing.T) {
	for _, pragmas := range [][]string{
		{"journal_mode(WAL)", "synchronous(OFF)"},
		{"journal_mode(WAL)", "synchronous(NORMAL)"},
		{"journal_mode(MEMORY)", "synchronous(FULL)"},
		{"journal_mode(OFF)", "synchronous(FULL)"},
		{"synchronous(FULL)", "query_only(ON)"},
	} {
		pool := openHandle(t, pragmas...)
		if db, err := New(pool); db != nil || err == nil {
			t.Errorf("New took a handle with %q", pragmas)
		}
		eventually(t, "the connection comes back", func() bool { return pool.Stats().InUse == 0 })
	}
}

// A transaction that SQLite rolled back while nobody watched: the record must
// not commit alone.
func TestNewRolledBack(t *testing.T) {
	db, _ := onHandle(t)
	err := run(db, call("k"), func(ctx context.Context, tx Tx) (refrain.Result, error) {
		_, err := put("half")(ctx, tx)
		if err != nil {
			return done, err
		}
		stmt, err := tx.PrepareContext(ctx, `INSERT OR ROLLBACK INTO orders (id, item) VALUES (1, 'x'), (1, 'x')`)
		if err != nil {
			return done, err
		}
		defer stmt.Close()
		_, _ = stmt.ExecContext(ctx)
		return done, nil
	})
	wantRow(t, err, "", refrain.ErrEffectFailed)
	if !errors.Is(err, errGone) {
		t.Errorf("%v does not say what happened", err)
	}
	quiet(t, db)
	wantReceipt(t, db, call("k"), false)
	wantItems(t, db)
	wantUsable(t, db)
}

// A deferred foreign key fails the COMMIT: that is the effect's failure.
func TestNewDeferredForeignKey(t *testing.T) {
	db, _ := onHandle(t)
	err := db.Setup(t.Context(), `CREATE TABLE lines (order_id INTEGER NOT NULL REFERENCES orders DEFERRABLE INITIALLY DEFERRED)`)
	if err != nil {
		t.Fatal(err)
	}
	runs := 0
	wantRow(t, run(db, call("k"), counted(&runs, line(7))), "", refrain.ErrEffectFailed)
	equal(t, "runs", runs, 1)
	wantReceipt(t, db, call("k"), false)
}

// What an effect leaves open keeps the application's connection at most as long
// as the application does.
func TestNewLeftOpen(t *testing.T) {
	db, pool := onHandle(t, Options{Busy: 50 * time.Millisecond})
	var stmt *sql.Stmt
	var leaked *sql.Rows
	err := run(db, call("k"), func(ctx context.Context, tx Tx) (refrain.Result, error) {
		own, cancel := context.WithCancel(context.Background()) // nobody ends it
		_ = cancel
		for _, ctx := range []context.Context{context.Background(), own} { // the rows end with the effect
			if _, err := tx.QueryContext(ctx, `SELECT 1`); err != nil {
				return done, err
			}
		}
		return put("k")(ctx, tx)
	})
	if err != nil {
		t.Error(err)
	}
	quiet(t, db)
	if n := pool.Stats().InUse; n != 0 {
		t.Errorf("%d connections are kept", n)
	}
	err = run(db, call("statement"), func(ctx context.Context, tx Tx) (refrain.Result, error) {
		var err error
		if stmt, err = tx.PrepareContext(ctx, endless); err != nil {
			return done, err
		}
		leaked, err = stmt.QueryContext(context.Background())
		return done, err
	})
	if err != nil {
		t.Error(err)
	}
	wantRow(t, run(db, call("behind"), put("behind")), "9", refrain.ErrUnavailable)
	if err := errors.Join(leaked.Close(), stmt.Close()); err != nil {
		t.Error(err)
	}
	quiet(t, db)
	eventually(t, "the connection comes back", func() bool { return pool.Stats().InUse == 0 })
	wantUsable(t, db)
	wantItems(t, db, "k")
}

func TestNewHandleAfterEffect(t *testing.T) {
	db, _ := onHandle(t)
	var kept Tx
	if err := run(db, call("k"), func(ctx context.Context, tx Tx) (refrain.Result, error) {
		kept = tx
		return put("k")(ctx, tx)
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := put("late")(t.Context(), kept); !errors.Is(err, sql.ErrTxDone) {
		t.Errorf("Exec: %v, want sql.ErrTxDone", err)
	}
	if _, err := kept.QueryContext(t.Context(), `SELECT 1`); !errors.Is(err, sql.ErrTxDone) {
		t.Errorf("Query: %v, want sql.ErrTxDone", err)
	}
	if _, err := kept.PrepareContext(t.Context(), `SELECT 1`); !errors.Is(err, sql.ErrTxDone) {
		t.Errorf("Prepare: %v, want sql.ErrTxDone", err)
	}
	if err := kept.QueryRowContext(t.Context(), `SELECT 1`).Scan(new(int)); err == nil {
		t.Error("QueryRow answers")
	}
	wantItems(t, db, "k")
}

// An overrun is row 14 whoever notices it.
func TestNewOverrun(t *testing.T) {
	db, _ := onHandle(t)
	err := run(db, limited("k"), func(ctx context.Context, tx Tx) (refrain.Result, error) {
		_, err := tx.ExecContext(ctx, `INSERT INTO orders (item) `+endless)
		return done, err
	})
	wantRow(t, err, "14", refrain.ErrNotExecuted)
	quiet(t, db)
	wantItems(t, db)
	wantUsable(t, db)
}
