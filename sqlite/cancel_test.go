package sqlite

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/refrain-dev/refrain"
)

// A caller that is cancelled before its turn leaves the line at once.
func TestCancelledInLine(t *testing.T) {
	db := openShop(t)
	var wg sync.WaitGroup
	defer wg.Wait()
	release := hold(t, db, &wg)
	defer release()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	runs := 0
	go func() {
		_, err := db.Execute(ctx, call("k"), counted(&runs, put("k")))
		ended <- err
	}()
	awaitQueue(t, db, 1)
	cancel()
	err := <-ended // while the writer is still held
	wantRow(t, err, "9", refrain.ErrUnavailable)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v does not say why", err)
	}
	equal(t, "runs", runs, 0)
	awaitQueue(t, db, 0)
}

// A caller that is cancelled during its effect is undone alone. Its statement
// runs to its end: interrupted, it would take the whole group with it.
func TestCancelledInEffect(t *testing.T) {
	db := openShop(t)
	statements := trace(t, db)
	ctx, cancel := context.WithCancel(t.Context())
	var errs [3]error
	var runs [3]int
	together(t, db,
		func() { errs[0] = run(db, call("a"), counted(&runs[0], put("a"))) },
		func() {
			_, errs[1] = db.Execute(ctx, call("b"), counted(&runs[1], func(ctx context.Context, tx Tx) (refrain.Result, error) {
				if _, err := put("b")(ctx, tx); err != nil {
					return done, err
				}
				cancel()
				return put("too late")(ctx, tx)
			}))
		},
		func() { errs[2] = run(db, call("c"), counted(&runs[2], put("c"))) },
	)
	if errs[0] != nil || errs[2] != nil || !errors.Is(errs[1], context.Canceled) {
		t.Errorf("errors %v", errs)
	}
	equal(t, "runs", runs, [3]int{1, 1, 1})
	equal(t, "groups", count(*statements, "COMMIT"), 2)
	wantItems(t, db, "a", "c")
	wantReceipt(t, db, call("b"), false)
}

// The same while a statement of the effect is under way.
func TestCancelledInStatement(t *testing.T) {
	db := openShop(t)
	ctx, cancel := context.WithCancel(t.Context())
	err := db.writer.guardOf(t).raw.CreateFunction("cancel", 0, 0, func(sqlite3.Context, ...sqlite3.Value) { cancel() })
	if err != nil {
		t.Fatal(err)
	}
	var errs [2]error
	var runs [2]int
	together(t, db,
		func() { errs[0] = run(db, call("a"), counted(&runs[0], put("a"))) },
		func() {
			_, errs[1] = db.Execute(ctx, call("b"), counted(&runs[1], func(ctx context.Context, tx Tx) (refrain.Result, error) {
				_, err := tx.ExecContext(ctx, `INSERT INTO orders (item)
					WITH RECURSIVE n(i) AS (SELECT coalesce(cancel(), 1) UNION ALL SELECT i+1 FROM n WHERE i < 20000) SELECT i FROM n`)
				if err != nil {
					t.Errorf("the statement was interrupted: %v", err)
				}
				_, err = put("too late")(ctx, tx)
				return done, err
			}))
		},
	)
	if errs[0] != nil || !errors.Is(errs[1], context.Canceled) {
		t.Errorf("errors %v", errs)
	}
	equal(t, "runs", runs, [2]int{1, 1})
	wantItems(t, db, "a")
}

// guardOf is the guard of the writer's connection.
func (w *writer) guardOf(t testing.TB) *guard {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.guard == nil {
		t.Fatal("the writer has no connection")
	}
	return w.guard
}

// A caller that is cancelled while COMMIT is under way gets the outcome.
func TestCancelledInCommit(t *testing.T) {
	db := openShop(t)
	ctx, cancel := context.WithCancel(t.Context())
	between(t, db, func(statement string, run func() error) error {
		if statement == "COMMIT" {
			cancel()
		}
		return run()
	})
	out, err := db.Execute(ctx, call("k"), put("k"))
	if err != nil || out.Ref == "" {
		t.Errorf("%+v, %v", out, err)
	}
	wantItems(t, db, "k")
	wantReceipt(t, db, call("k"), true)
}

// The same where COMMIT's answer is lost: the lookup tells, not the cancellation.
func TestCancelledInLostCommit(t *testing.T) {
	db := openShop(t)
	ctx, cancel := context.WithCancel(t.Context())
	between(t, db, func(statement string, run func() error) error {
		err := run()
		if statement == "COMMIT" && ctx.Err() == nil {
			cancel()
			return errors.Join(sqlite3.IOERR, err)
		}
		return err
	})
	out, err := db.Execute(ctx, call("k"), put("k"))
	if err != nil || !out.Replayed {
		t.Errorf("%+v, %v", out, err)
	}
	wantItems(t, db, "k")
}
