package postgres

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "github.com/lib/pq"
)

// keeper is a Store on a schema of its own, with a plain transaction around its
// work.
type keeper struct {
	*Store
	db *sql.DB
}

// answers asks the server once: a connection is what costs most here.
var answers = sync.OnceValue(func() error {
	db, err := sql.Open("pgx", serverURL())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return errors.Join(db.PingContext(ctx), db.Close())
})

func serverURL() string {
	url := os.Getenv("REFRAIN_TEST_POSTGRES")
	if url == "" {
		url = "postgres://postgres@127.0.0.1:5432/test"
	}
	if !strings.Contains(url, "?") {
		url += "?sslmode=disable" // lib/pq asks for TLS otherwise
	}
	return url
}

// keeperURL finds the server, or skips the test.
func keeperURL(t testing.TB) string {
	t.Helper()
	switch err := answers(); {
	case err == nil:
	case os.Getenv("REFRAIN_REQUIRE_SERVICES") == "1":
		t.Fatalf("no PostgreSQL at REFRAIN_TEST_POSTGRES: %v", err)
	default:
		t.Skipf("no PostgreSQL at REFRAIN_TEST_POSTGRES: %v", err)
	}
	return serverURL()
}

// newKeeper is a migrated store; the driver is pgx or postgres, which is lib/pq,
// or native, for the Store of a DB, and may be followed by a parameter of the
// connection.
func newKeeper(t testing.TB, driver string, options ...Options) *keeper {
	t.Helper()
	k := emptyKeeper(t, driver, options...)
	if err := k.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return k
}

func emptyKeeper(t testing.TB, driver string, options ...Options) *keeper {
	t.Helper()
	opts, err := single(options)
	if err != nil {
		t.Fatal(err)
	}
	if opts.Schema == defaultSchema {
		opts.Schema = `keeper "` + strings.ToLower(rand.Text()[:10]) + `"` // needs its quotes
	}
	k := keeperOn(t, driver, keeperURL(t), opts)
	t.Cleanup(func() {
		if _, err := k.db.Exec(`DROP SCHEMA IF EXISTS ` + k.sql.schema + ` CASCADE`); err != nil {
			t.Error(err)
		}
		k.db.Close()
	})
	return k
}

// keeperOn is one more store on a schema, as another process has it.
func keeperOn(t testing.TB, driver, url string, opts Options) *keeper {
	t.Helper()
	driver, parameter, _ := strings.Cut(driver, " ")
	if parameter != "" {
		url += "&" + parameter
	}
	native := driver == "native"
	if native {
		driver = "pgx"
	}
	db, err := sql.Open(driver, url)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(4)
	if native {
		engine, err := Open(t.Context(), url+"&pool_max_conns=4", opts)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := engine.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
		return &keeper{db: db, Store: &engine.Store}
	}
	k := &keeper{db: db, Store: &Store{opts: opts, sql: newQueries(opts.Schema), read: through{db}}}
	k.write = func(ctx context.Context, work func(context.Context, runner) error) error {
		for attempt := 0; ; attempt++ {
			err := k.transaction(ctx, work)
			if !retryable(err) || attempt == 9 {
				return err
			}
		}
	}
	return k
}

// sibling is another store on the same schema.
func (k *keeper) sibling(t testing.TB) *keeper {
	t.Helper()
	other := keeperOn(t, "pgx", keeperURL(t), k.opts)
	t.Cleanup(func() { other.db.Close() })
	return other
}

func (k *keeper) transaction(ctx context.Context, work func(context.Context, runner) error) error {
	tx, err := k.db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		return err
	}
	if err := work(ctx, through{tx}); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// setup runs SQL behind the store's back.
func (k *keeper) setup(t testing.TB, query string, args ...any) {
	t.Helper()
	if _, err := k.db.ExecContext(t.Context(), k.sql.text(query), args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// number reads one integer.
func (k *keeper) number(t testing.TB, query string, args ...any) (n int64) {
	t.Helper()
	if err := k.db.QueryRowContext(t.Context(), k.sql.text(query), args...).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}
