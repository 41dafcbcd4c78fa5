package mysql

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	driverlib "github.com/go-sql-driver/mysql"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

// shop is a migrated database with a table of the application's.
type shop struct {
	cfg *driverlib.Config
	raw *sql.DB // past the engine
}

func newShop(t testing.TB, options ...string) shop {
	t.Helper()
	cfg := database(t, options...)
	raw := poolOf(t, cfg)
	migrateNow(t, raw)
	must(t, raw, `CREATE TABLE effects (id VARBINARY(200) NOT NULL) ENGINE=InnoDB`)
	return shop{cfg, raw}
}

// order is a call of the shop.
func order(key string) refrain.Call {
	return refrain.Call{
		Contract: refrain.Contract{Operation: "orders.create", Schema: "1", ReplayFor: time.Hour, RememberFor: 24 * time.Hour},
		Scope:    refrain.Tenant("north"), Key: key, Input: []byte("one"),
	}
}

// buys writes one row.
func buys(id string) func(context.Context, Tx) (refrain.Result, error) {
	return func(ctx context.Context, tx Tx) (refrain.Result, error) {
		_, err := tx.ExecContext(ctx, `INSERT INTO effects (id) VALUES (?)`, id)
		return refrain.Result{Status: 201, Body: []byte(id)}, err
	}
}

func mustBuy(t testing.TB, db *DB, call refrain.Call) refrain.Outcome {
	t.Helper()
	out, err := db.Execute(t.Context(), call, buys(call.Key))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func identityOf(t testing.TB, call refrain.Call) record.Identity {
	t.Helper()
	claim, err := call.Claim()
	if err != nil {
		t.Fatal(err)
	}
	return claim.Identity
}

// attempt commits the claim of a handler that commits for itself.
func attempt(t testing.TB, db *DB, call refrain.Call) (rec *record.Record) {
	t.Helper()
	claim, err := call.Claim()
	if err != nil {
		t.Fatal(err)
	}
	err = db.Change(t.Context(), claim.Identity, func(seen record.Seen, now time.Time) (record.Edit, error) {
		edit, opened, fresh, err := claim.Open(seen, now)
		if err == nil && !fresh {
			err = errors.New("not fresh")
		}
		rec = opened
		return edit, err
	})
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

// wantRow demands a row of the decision table.
func wantRow(t testing.TB, err error, row string, problem error) {
	t.Helper()
	var refusal *refrain.Error
	if !errors.As(err, &refusal) || refusal.Row != row || !errors.Is(err, problem) {
		t.Errorf("%v, want row %s, %v", err, row, problem)
	}
}

// patience is how long a test waits for what should happen at once.
const patience = 30 * time.Second

func await[V any](t testing.TB, ch <-chan V, what string) V {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(patience):
		t.Fatalf("waited %v for %s", patience, what)
		panic("unreachable")
	}
}

// gate holds goroutines until it is opened, at the latest when the test ends: a
// failure must not leave the engine hanging.
type gate struct {
	opened chan struct{}
	open   func()
}

func newGate(t testing.TB) gate {
	opened := make(chan struct{})
	open := sync.OnceFunc(func() { close(opened) })
	t.Cleanup(open)
	return gate{opened, open}
}

// awaitLockWait returns when n transactions of the shop wait for a lock. InnoDB
// shows the same picture again to whoever asks within 100 ms.
func (s shop) awaitLockWait(t testing.TB, n int) {
	t.Helper()
	waits := `SELECT count(*) FROM information_schema.innodb_trx x JOIN information_schema.processlist p ON p.id = x.trx_mysql_thread_id
		WHERE p.db = DATABASE() AND x.trx_state = 'LOCK WAIT'`
	if !mariaDB(t, s.raw) {
		waits = `SELECT count(DISTINCT w.requesting_thread_id) FROM performance_schema.data_lock_waits w
			JOIN performance_schema.threads h ON h.thread_id = w.requesting_thread_id WHERE h.processlist_db = DATABASE()`
	}
	ticker := time.NewTicker(120 * time.Millisecond)
	defer ticker.Stop()
	for until := time.Now().Add(patience / 2); time.Now().Before(until); <-ticker.C {
		var waiting int
		if err := s.raw.QueryRow(waits).Scan(&waiting); err != nil {
			t.Fatal(err)
		}
		if waiting >= n {
			return
		}
	}
	t.Fatalf("%d transactions never waited for a lock", n)
}

func mariaDB(t testing.TB, pool *sql.DB) bool {
	t.Helper()
	return strings.Contains(column(t, pool, `SELECT VERSION()`)[0], "MariaDB")
}

// isolation is how a server calls the variable.
func isolation(t testing.TB, pool *sql.DB) string {
	t.Helper()
	if mariaDB(t, pool) {
		return "tx_isolation"
	}
	return "transaction_isolation"
}
