package sqlite

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
)

var contract = refrain.Contract{Operation: "orders.create", Schema: "1", ReplayFor: time.Hour, RememberFor: 2 * time.Hour}

// openShop opens a migrated database with an orders table.
func openShop(t testing.TB, options ...Options) *DB {
	t.Helper()
	db, err := Open(filepath.Join(t.TempDir(), "shop.db"), options...)
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

func createOrders(t testing.TB, db *DB) {
	t.Helper()
	err := db.Setup(t.Context(), `CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, item TEXT NOT NULL)`)
	if err != nil {
		t.Fatal(err)
	}
}

func order(ctx context.Context, tx Tx) (int64, error) {
	res, err := tx.ExecContext(ctx, `INSERT INTO orders (item) VALUES (?)`, "tea")
	if err != nil {
		return 0, err
	}
	return res.LastInsertId()
}

func call(key string) refrain.Call {
	return refrain.Call{Contract: contract, Scope: refrain.Tenant("north"), Key: key, Input: []byte("tea")}
}

func orders(t testing.TB, db *DB) (n int) {
	t.Helper()
	if err := db.Reader().QueryRow(`SELECT count(*) FROM orders`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestReplay(t *testing.T) {
	db := openShop(t)
	first, err := refrain.Do(t.Context(), db, call("k"), order)
	if err != nil {
		t.Fatal(err)
	}
	again, err := refrain.Do(t.Context(), db, call("k"), order)
	if err != nil {
		t.Fatal(err)
	}
	if first.Replayed || !again.Replayed || first.Value != again.Value || first.Ref != again.Ref || orders(t, db) != 1 {
		t.Errorf("first %+v, again %+v, %d orders", first, again, orders(t, db))
	}
}

func TestGroup(t *testing.T) {
	db := openShop(t)
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			key := string(rune('a' + i%20))
			if _, err := refrain.Do(t.Context(), db, call(key), order); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := orders(t, db); n != 20 {
		t.Errorf("%d orders, want 20", n)
	}
}
