//go:build linux

package retention

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/ncruces/go-sqlite3/driver"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/proof/engines"
	"github.com/refrain-dev/refrain/sqlite"
	"github.com/refrain-dev/refrain/upkeep"
)

// bench is an open engine and a way past it.
type bench struct {
	name    string
	store   upkeep.Keeper
	order   func(ctx context.Context, key string) error
	raw     *sql.DB
	table   string // of the records
	size    string // a query for the bytes of the records with their indexes
	quote   string // around names
	dollar  bool   // arguments are $1
	textRef bool   // refs are stored as text
}

func inFile(t *testing.T) *bench {
	path := filepath.Join(t.TempDir(), "shop.db")
	db, err := sqlite.Open(path)
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
	if err := db.Setup(t.Context(), `CREATE TABLE orders (n INTEGER PRIMARY KEY, client_key TEXT NOT NULL)`); err != nil {
		t.Fatal(err)
	}
	raw, err := sql.Open("sqlite3", "file:"+path+"?_pragma=busy_timeout(60000)&_pragma=synchronous(OFF)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = raw.Close() })
	return &bench{
		name: "SQLite", store: db, raw: raw, table: "refrain_record", quote: `"`, textRef: true,
		size: `SELECT (SELECT page_count FROM pragma_page_count()) * (SELECT page_size FROM pragma_page_size())
			- (SELECT freelist_count FROM pragma_freelist_count()) * (SELECT page_size FROM pragma_page_size())`,
		order: func(ctx context.Context, key string) error {
			_, err := db.Execute(ctx, engines.Call(key), func(ctx context.Context, tx sqlite.Tx) (refrain.Result, error) {
				_, err := tx.ExecContext(ctx, `INSERT INTO orders (client_key) VALUES (?)`, key)
				return refrain.Result{Status: 201, Body: make([]byte, 300), Effect: "/orders/" + key}, err
			})
			return err
		},
	}
}

func onServer(kind engines.Kind) func(t *testing.T) *bench {
	return func(t *testing.T) *bench {
		shop := engines.NewShop(t, kind, engines.Shared(t, kind))
		e := shop.Open(t, "", 12)
		driver := "pgx"
		if kind.MySQL {
			driver = "mysql"
		}
		raw, err := sql.Open(driver, shop.DSN(""))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = raw.Close() })
		b := &bench{
			name: "PostgreSQL", store: e, raw: raw, table: shop.Table("record"), quote: `"`, dollar: true,
			size: `SELECT pg_total_relation_size('` + shop.Table("record") + `')`,
			order: func(ctx context.Context, key string) error {
				_, err := e.Do(ctx, engines.Call(key), engines.Order{Token: strings.Repeat("x", 250)})
				return err
			},
		}
		if kind.MySQL {
			b.name, b.table, b.quote, b.dollar = "MariaDB", shop.Table("refrain_record"), "`", false
			b.size = `SELECT data_length + index_length FROM information_schema.tables WHERE table_name = 'refrain_record' AND table_schema = DATABASE()`
		}
		return b
	}
}

// bytes is how large the records are.
func (b *bench) bytes(t *testing.T) (n int64) {
	t.Helper()
	if b.quote == "`" {
		if _, err := b.raw.ExecContext(t.Context(), "ANALYZE TABLE "+b.table); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.raw.QueryRowContext(t.Context(), b.size).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// callers is how many place orders at once.
const callers = 8

// traffic places orders until stop and returns how long each took.
func (b *bench) traffic(ctx context.Context, stop <-chan struct{}) (times []time.Duration, err error) {
	var mu sync.Mutex
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			var mine []time.Duration
			var failed error
			for failed == nil {
				select {
				case <-stop:
					mu.Lock()
					defer mu.Unlock()
					times = append(times, mine...)
					return
				default:
				}
				started := time.Now()
				failed = b.order(ctx, rand.Text())
				mine = append(mine, time.Since(started))
			}
			mu.Lock()
			defer mu.Unlock()
			err = failed
		})
	}
	all.Wait()
	slices.Sort(times)
	return times, err
}

// during places orders while work runs and returns their rate and their p99.
func (b *bench) during(t *testing.T, work func() error) (rate float64, p99 time.Duration) {
	t.Helper()
	stop := make(chan struct{})
	worked := make(chan error, 1)
	started := time.Now()
	go func() {
		defer close(stop)
		worked <- work()
	}()
	times, err := b.traffic(t.Context(), stop)
	took := time.Since(started)
	if err := <-worked; err != nil {
		t.Fatal(err)
	}
	if err != nil || len(times) == 0 {
		t.Fatalf("%d orders, %v", len(times), err)
	}
	return float64(len(times)) / took.Seconds(), times[len(times)*99/100]
}

func mega(bytes int64) string { return fmt.Sprintf("%.0f MB", float64(bytes)/1e6) }
