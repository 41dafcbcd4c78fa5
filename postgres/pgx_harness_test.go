package postgres

import (
	"context"
	"crypto/rand"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/refrain-dev/refrain"
)

type effect = pgxEffect

var done = refrain.Result{Body: []byte(`"done"`)}

// shop is an engine on a schema of its own, with a table of orders in it.
type shop struct {
	*DB
	raw *pgxpool.Pool // past the engine
}

// newShop opens one; dress may change the pool's configuration.
func newShop(t testing.TB, opts Options, dress ...func(*pgxpool.Config)) *shop {
	t.Helper()
	url := keeperURL(t)
	if opts.Schema == "" {
		opts.Schema = `shop "` + strings.ToLower(rand.Text()[:10]) + `"`
	}
	raw := rawPool(t, url)
	s := openShop(t, url, opts, dress...)
	s.raw = raw
	t.Cleanup(func() { s.sql0(t, `DROP SCHEMA IF EXISTS {schema} CASCADE`) })
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.sql0(t, `CREATE TABLE {schema}.orders (item text NOT NULL)`)
	return s
}

func rawPool(t testing.TB, url string) *pgxpool.Pool {
	t.Helper()
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	config.MaxConns = 2
	raw, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(raw.Close)
	return raw
}

// openShop opens another engine, as another process would.
func openShop(t testing.TB, url string, opts Options, dress ...func(*pgxpool.Config)) *shop {
	t.Helper()
	s := shopOn(t, enginePool(t, url, 4, dress...), opts)
	s.owned = true
	return s
}

// enginePool is a pool of an engine's; dress may change its configuration.
func enginePool(t testing.TB, url string, size int32, dress ...func(*pgxpool.Config)) *pgxpool.Pool {
	t.Helper()
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	config.MaxConns = size
	Configure(config)
	for _, change := range dress {
		change(config)
	}
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		t.Fatal(err)
	}
	return pool
}

// shopOn opens an engine on somebody's pool.
func shopOn(t testing.TB, pool *pgxpool.Pool, opts Options) *shop {
	t.Helper()
	db, err := New(pool, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := db.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return &shop{DB: db}
}

// sql0 runs SQL past the engine.
func (s *shop) sql0(t testing.TB, query string, args ...any) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if _, err := s.raw.Exec(ctx, s.sql.text(query), args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// put is an effect that orders item.
func (s *shop) put(item string) effect {
	return func(ctx context.Context, tx Tx) (refrain.Result, error) { return done, s.order(ctx, tx, item) }
}

func (s *shop) order(ctx context.Context, tx pgxQuerier, item string) error {
	_, err := tx.Exec(ctx, s.sql.text(`INSERT INTO {schema}.orders (item) VALUES ($1)`), item)
	return err
}

func (s *shop) run(c refrain.Call, fn effect) error {
	_, err := s.Execute(context.Background(), c, fn)
	return err
}

// wantItems compares the committed orders.
func (s *shop) wantItems(t testing.TB, want ...string) {
	t.Helper()
	rows, err := s.raw.Query(t.Context(), s.sql.text(`SELECT item FROM {schema}.orders`))
	if err != nil {
		t.Fatal(err)
	}
	got, err := pgx.CollectRows(rows, pgx.RowTo[string])
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
func (s *shop) wantReceipt(t testing.TB, c refrain.Call, want bool) {
	t.Helper()
	seen, _, err := s.Load(t.Context(), claimOf(t, c).Identity)
	if err != nil {
		t.Fatal(err)
	}
	if got := seen.Record != nil; got != want {
		t.Errorf("receipt: %t, want %t", got, want)
	}
}

// wantIdle checks that every connection came back.
func (s *shop) wantIdle(t testing.TB) {
	t.Helper()
	eventually(t, "all connections are idle", func() bool { return s.conns.Stat().AcquiredConns() == 0 })
}

// eventually waits for a condition that another goroutine, or the server,
// brings about.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for start := time.Now(); !ok(); runtime.Gosched() {
		if time.Since(start) > 20*time.Second {
			t.Fatalf("never: %s", what)
		}
	}
}

// counted counts the runs of fn.
func counted(n *int, fn effect) effect {
	return func(ctx context.Context, tx Tx) (refrain.Result, error) {
		*n++
		return fn(ctx, tx)
	}
}
