package refraintests

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/sqlite"
)

// recorder is a testing.TB that keeps what is reported to it.
type recorder struct {
	testing.TB
	mu      sync.Mutex
	reports []string
	notes   []string
}

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reports = append(r.reports, fmt.Sprintf(format, args...))
}

func (r *recorder) Logf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}

// want demands that one report has the text; "" demands that there is none.
func (r *recorder) want(t *testing.T, text string) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	all := strings.Join(r.reports, "\n")
	if text == "" && all != "" || !strings.Contains(all, text) {
		t.Errorf("reported %q, want %q", r.reports, text)
	}
}

// openShop is an engine on a file of its own with a few tables.
func openShop(t *testing.T, now func() time.Time) *sqlite.DB {
	t.Helper()
	db, err := sqlite.Open(filepath.Join(t.TempDir(), "shop.db"), sqlite.Options{Now: now, Normal: true})
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
	err = db.Setup(t.Context(),
		`CREATE TABLE orders (id INTEGER PRIMARY KEY, item TEXT NOT NULL, refrain_ref TEXT UNIQUE)`,
		`CREATE TABLE lines (id INTEGER PRIMARY KEY, order_id INTEGER REFERENCES orders DEFERRABLE INITIALLY DEFERRED)`,
		`CREATE TABLE prices (item TEXT PRIMARY KEY, cents INTEGER NOT NULL)`,
		`INSERT INTO prices VALUES ('tea', 300), ('coffee', 400)`)
	if err != nil {
		t.Fatal(err)
	}
	return db
}

var orders = refrain.Contract{
	Operation: "orders.create", Schema: "1", ReplayFor: time.Hour, RememberFor: 24 * time.Hour,
}

func call() refrain.Call {
	return refrain.Call{Contract: orders, Scope: refrain.Tenant("north"), Key: "k", Input: []byte("one")}
}

func orderRows(t *testing.T, db *sqlite.DB) (n int) {
	t.Helper()
	if err := db.Reader().QueryRow(`SELECT count(*) FROM orders`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
