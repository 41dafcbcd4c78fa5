package postgres

import (
	"context"
	"crypto/rand"
	"database/sql"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/refrain-dev/refrain"
)

// sqlShop is an engine on a handle, on a schema of its own with a table of orders
// in it.
type sqlShop struct {
	*SQL
	raw *pgxpool.Pool // past the engine
}

// sqlDrivers are those the engine is tested with.
var sqlDrivers = []string{"pgx", "postgres"}

// newSQLShop opens one; change may replace the handle.
func newSQLShop(t testing.TB, driver string, opts Options, change ...func(url string) *sql.DB) *sqlShop {
	t.Helper()
	url := keeperURL(t)
	if opts.Schema == "" {
		opts.Schema = `shop "` + strings.ToLower(rand.Text()[:10]) + `"`
	}
	raw := rawPool(t, url)
	s := openSQLShop(t, driver, url, opts, change...)
	s.raw = raw
	t.Cleanup(func() { s.past(t, `DROP SCHEMA IF EXISTS {schema} CASCADE`) })
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.past(t, `CREATE TABLE {schema}.orders (item text NOT NULL)`)
	return s
}

// openSQLShop opens another engine, as another process would.
func openSQLShop(t testing.TB, driver, url string, opts Options, change ...func(url string) *sql.DB) *sqlShop {
	t.Helper()
	pool, err := sql.Open(driver, url)
	if err != nil {
		t.Fatal(err)
	}
	for _, replace := range change {
		_ = pool.Close()
		pool = replace(url)
	}
	if pool.Stats().MaxOpenConnections == 0 {
		pool.SetMaxOpenConns(4)
	}
	t.Cleanup(func() {
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
	})
	return sqlShopOn(t, pool, opts)
}

// sqlShopOn opens an engine on somebody's handle.
func sqlShopOn(t testing.TB, pool *sql.DB, opts Options) *sqlShop {
	t.Helper()
	db, err := NewSQL(pool, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := db.Close(ctx); err != nil {
			t.Error(err)
		}
		if n := pool.Stats().InUse; n != 0 {
			t.Errorf("%d connections are kept", n)
		}
	})
	return &sqlShop{SQL: db}
}

// past runs SQL past the engine.
func (s *sqlShop) past(t testing.TB, query string, args ...any) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if _, err := s.raw.Exec(ctx, s.sql.text(query), args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// put is an effect that orders item.
func (s *sqlShop) put(item string) sqlEffect {
	return func(ctx context.Context, tx SQLTx) (refrain.Result, error) { return done, s.order(ctx, tx, item) }
}

func (s *sqlShop) order(ctx context.Context, tx querier, item string) error {
	_, err := tx.ExecContext(ctx, s.sql.text(`INSERT INTO {schema}.orders (item) VALUES ($1)`), item)
	return err
}

func (s *sqlShop) do(c refrain.Call, fn sqlEffect) error {
	_, err := s.Execute(context.Background(), c, fn)
	return err
}

func (s *sqlShop) items(ctx context.Context) ([]string, error) {
	rows, err := s.raw.Query(ctx, s.sql.text(`SELECT item FROM {schema}.orders`))
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

func (s *sqlShop) wantItems(t testing.TB, want ...string) {
	t.Helper()
	got, err := s.items(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("orders %q, want %q", got, want)
	}
}

// wantReceipt checks whether the call has a record.
func (s *sqlShop) wantReceipt(t testing.TB, c refrain.Call, want bool) {
	t.Helper()
	seen, _, err := s.Load(t.Context(), claimOf(t, c).Identity)
	if err != nil {
		t.Fatal(err)
	}
	if got := seen.Record != nil; got != want {
		t.Errorf("receipt: %t, want %t", got, want)
	}
}
