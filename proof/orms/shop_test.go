package orms

import (
	"context"
	"crypto/rand"
	"database/sql"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the drivers
	_ "github.com/lib/pq"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/postgres"
	"github.com/refrain-dev/refrain/proof/servers"
)

// shop is an engine on an application's handle, and the handle.
type shop struct {
	*postgres.SQL
	pool *sql.DB
}

// open makes a schema with Refrain's tables and the business table.
func open(t *testing.T, driver string) shop {
	t.Helper()
	dsn := os.Getenv("REFRAIN_TEST_POSTGRES")
	if dsn == "" {
		dsn = "postgres://postgres@127.0.0.1:5432/test?sslmode=disable"
	}
	schema := "orms_" + strings.ToLower(rand.Text())
	at, err := url.Parse(dsn)
	must(t, err)
	q := at.Query()
	q.Set("search_path", schema)
	q.Set("sslmode", "disable")
	at.RawQuery = q.Encode()
	pool, err := sql.Open(driver, at.String())
	must(t, err)
	t.Cleanup(func() { _ = pool.Close() })
	pool.SetMaxOpenConns(4)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if err := pool.PingContext(ctx); err != nil {
		servers.Missing(t, "no PostgreSQL answers at REFRAIN_TEST_POSTGRES: %v", err)
	}
	t.Cleanup(func() {
		if _, err := pool.Exec(`DROP SCHEMA IF EXISTS ` + schema + ` CASCADE`); err != nil {
			t.Error(err)
		}
	})
	db, err := postgres.NewSQL(pool, postgres.Options{Schema: schema})
	must(t, err)
	t.Cleanup(func() { must(t, db.Close(context.Background())) })
	must(t, db.Migrate(t.Context()))
	_, err = pool.ExecContext(t.Context(), `CREATE TABLE orders (item text PRIMARY KEY)`)
	must(t, err)
	return shop{db, pool}
}

func call(key string) refrain.Call {
	return refrain.Call{
		Contract: refrain.Contract{Operation: "orders.create", Schema: "1", ReplayFor: time.Hour, RememberFor: 24 * time.Hour},
		Scope:    refrain.Tenant("north"),
		Key:      key,
		Input:    "one of " + key,
	}
}

// effect writes the item through the toolkit, not through what it is handed.
func (j joinable) effect(runs *int, item string, fail error) func(context.Context, refrain.SQLTx) (refrain.Result, error) {
	return func(ctx context.Context, _ refrain.SQLTx) (refrain.Result, error) {
		*runs++
		if err := j.insert(ctx, item); err != nil {
			return refrain.Result{}, err
		}
		return refrain.Result{Body: []byte(item)}, fail
	}
}

func (s shop) items(t *testing.T) []string {
	t.Helper()
	rows, err := s.pool.QueryContext(t.Context(), `SELECT item FROM orders`)
	must(t, err)
	defer rows.Close()
	var all []string
	for rows.Next() {
		var item string
		must(t, rows.Scan(&item))
		all = append(all, item)
	}
	must(t, rows.Err())
	slices.Sort(all)
	return all
}

func (s shop) want(t *testing.T, items ...string) {
	t.Helper()
	slices.Sort(items)
	if got := s.items(t); !slices.Equal(got, items) {
		t.Errorf("orders %q, want %q", got, items)
	}
}

func (s shop) receipt(t *testing.T, key string, want bool) {
	t.Helper()
	claim, err := call(key).Claim()
	must(t, err)
	seen, _, err := s.Load(t.Context(), claim.Identity)
	must(t, err)
	if got := seen.Record != nil; got != want {
		t.Errorf("receipt of %s: %t, want %t", key, got, want)
	}
}
