package crash

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/driver"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/sqlite"
)

// pointVariable names the boundary at which the victim waits to be killed.
const pointVariable = "REFRAIN_CRASH_POINT"

// The boundaries, in the order in which one action meets them.
const (
	beforeWrite  = "before the business write"
	beforeCommit = "after the business write, before its record"
	inCommit     = "inside COMMIT, order and record written"
	committed    = "after COMMIT, before the engine knows"
	beforeAnswer = "after COMMIT, before the answer"
	nowhere      = "nowhere" // runs to its end
)

// told is what the victim prints at its end.
type told struct {
	Body     string
	Ref      string
	Replayed bool
}

const table = `CREATE TABLE IF NOT EXISTS demo_order (n INTEGER PRIMARY KEY, order_id TEXT NOT NULL UNIQUE,
	tenant TEXT NOT NULL, sku TEXT NOT NULL, quantity INTEGER NOT NULL, refrain_ref TEXT NOT NULL UNIQUE)`

// victim makes one order in the file at path and returns its exit code. At
// point it says so on descriptor 3 and stays there until it is killed.
func victim(point, path string) int {
	if err := order(context.Background(), point, path); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func order(ctx context.Context, point, path string) (err error) {
	var hooked atomic.Bool // the setup's own commits are not the action's
	db, err := open(path, point, &hooked)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close(ctx)) }()
	if err := db.Migrate(ctx); err != nil {
		return err
	}
	if err := db.Setup(ctx, table); err != nil {
		return err
	}
	hooked.Store(true)
	call := refrain.Call{
		Contract: refrain.Contract{Operation: "orders.create", Schema: "1", ReplayFor: time.Hour, RememberFor: 24 * time.Hour, MaxExecution: time.Hour},
		Scope:    refrain.Tenant("north"),
		Key:      "key",
		Input:    []byte("the order"),
	}
	out, err := db.Execute(ctx, call, func(ctx context.Context, tx sqlite.Tx) (refrain.Result, error) {
		reach(point, beforeWrite)
		running, _ := refrain.CallFrom(ctx)
		id := "ord_" + running.Ref
		_, err := tx.ExecContext(ctx, `INSERT INTO demo_order (order_id, tenant, sku, quantity, refrain_ref) VALUES (?, 'north', 'BOOK-1', 1, ?)`, id, running.Ref)
		reach(point, beforeCommit)
		return refrain.Result{
			Status: 201, Effect: "/v1/orders/" + id, Header: [][2]string{{"Content-Type", "application/json"}},
			Body: fmt.Appendf(nil, `{"order_id":%q,"sku":"BOOK-1","quantity":1}`, id),
		}, err
	})
	if err != nil {
		return err
	}
	reach(point, beforeAnswer)
	return json.NewEncoder(os.Stdout).Encode(told{string(out.Body), out.Ref, out.Replayed})
}

// open opens the file as an application does, except where the point is inside
// the database: then the handle is the application's own, with SQLite's hooks.
func open(path, point string, hooked *atomic.Bool) (*sqlite.DB, error) {
	if point != inCommit && point != committed {
		return sqlite.Open(path)
	}
	handle, err := driver.Open("file:"+path+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=busy_timeout(5000)&_txlock=immediate", func(c *sqlite3.Conn) error {
		c.CommitHook(func() bool {
			if hooked.Load() {
				reach(point, inCommit)
			}
			return true
		})
		c.WALHook(func(*sqlite3.Conn, string, int) error {
			if hooked.Load() {
				reach(point, committed)
			}
			return nil
		})
		return nil
	})
	if err != nil {
		return nil, err
	}
	return own(handle)
}

func own(handle *sql.DB) (*sqlite.DB, error) {
	db, err := sqlite.New(handle)
	if err != nil {
		return nil, errors.Join(err, handle.Close())
	}
	return db, nil
}

// reach stops the victim where it was told to wait. It never comes back from
// there: if the test is gone, its end of stdin is closed and the victim ends.
func reach(point, here string) {
	if point != here {
		return
	}
	if _, err := fmt.Fprintln(os.NewFile(3, "reached"), here); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(1)
}
