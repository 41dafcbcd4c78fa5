package sqlite

import (
	"context"
	"errors"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
)

type effect = func(context.Context, Tx) (refrain.Result, error)

var done = refrain.Result{Body: []byte(`"done"`)}

// named is a call of an operation of its own, so that one slow effect does not
// send the others alone.
func named(operation, key string) refrain.Call {
	c := call(key)
	c.Contract.Operation = operation
	return c
}

// put is an effect that orders item.
func put(item string) effect {
	return func(ctx context.Context, tx Tx) (refrain.Result, error) {
		_, err := tx.ExecContext(ctx, `INSERT INTO orders (item) VALUES (?)`, item)
		return done, err
	}
}

// run executes call and tells what the test can compare.
func run(db *DB, c refrain.Call, fn effect) error {
	_, err := db.Execute(context.Background(), c, fn)
	return err
}

// counted counts the runs of fn.
func counted(n *int, fn effect) effect {
	return func(ctx context.Context, tx Tx) (refrain.Result, error) {
		*n++
		return fn(ctx, tx)
	}
}

// items are the committed orders, sorted.
func items(t testing.TB, db *DB) []string {
	t.Helper()
	rows, err := db.Reader().Query(`SELECT item FROM orders`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var all []string
	for rows.Next() {
		var item string
		if err := rows.Scan(&item); err != nil {
			t.Fatal(err)
		}
		all = append(all, item)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(all)
	return all
}

func wantItems(t testing.TB, db *DB, want ...string) {
	t.Helper()
	slices.Sort(want)
	if got := items(t, db); !slices.Equal(got, want) {
		t.Errorf("orders %q, want %q", got, want)
	}
}

// wantReceipt checks that exactly the receipts of these calls exist.
func wantReceipt(t testing.TB, db *DB, c refrain.Call, want bool) {
	t.Helper()
	claim, err := c.Claim()
	if err != nil {
		t.Fatal(err)
	}
	seen, _, err := db.Load(t.Context(), claim.Identity)
	if err != nil {
		t.Fatal(err)
	}
	if got := seen.Record != nil; got != want {
		t.Errorf("receipt of %s: %t, want %t", c.Key, got, want)
	}
}

// wantRow checks the row of the decision table and the problem of err.
func wantRow(t testing.TB, err error, row string, problem error) {
	t.Helper()
	var refusal *refrain.Error
	if !errors.As(err, &refusal) || refusal.Row != row || !errors.Is(err, problem) {
		t.Errorf("error %v, want row %q, %v", err, row, problem)
	}
}

// wantUsable checks that the engine executes and answers as before.
func wantUsable(t testing.TB, db *DB) {
	t.Helper()
	c := named("usable", "k")
	for range 2 {
		if err := run(db, c, func(context.Context, Tx) (refrain.Result, error) { return done, nil }); err != nil {
			t.Errorf("the engine is not usable afterwards: %v", err)
		}
	}
}

// together lets the calls share one transaction, in this order, and waits for
// their ends: it holds the writer until all of them are in line.
func together(t testing.TB, db *DB, calls ...func()) {
	t.Helper()
	quiet(t, db)
	db.writer.span = time.Hour
	var wg sync.WaitGroup
	defer wg.Wait()
	release := hold(t, db, &wg)
	defer release()
	for i, c := range calls {
		wg.Go(c)
		awaitQueue(t, db, i+1)
	}
}

// hold takes the writer until release is called.
func hold(t testing.TB, db *DB, wg *sync.WaitGroup) (release func()) {
	t.Helper()
	db.haste = time.Hour // who waits in line keeps its place
	holding, released := make(chan struct{}), make(chan struct{})
	wg.Go(func() {
		err := db.Update(context.Background(), func(context.Context, Tx) error {
			close(holding)
			<-released
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
	<-holding
	return func() { close(released) }
}

// awaitQueue waits until n callers are in line.
func awaitQueue(t testing.TB, db *DB, n int) {
	t.Helper()
	for start := time.Now(); ; runtime.Gosched() {
		db.writer.mu.Lock()
		got := len(db.writer.queue)
		db.writer.mu.Unlock()
		if got == n {
			return
		}
		if time.Since(start) > 20*time.Second {
			t.Fatalf("%d in line, want %d", got, n)
		}
	}
}

// eventually waits for a condition that another goroutine brings about.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for start := time.Now(); !ok(); runtime.Gosched() {
		if time.Since(start) > 20*time.Second {
			t.Fatalf("never: %s", what)
		}
	}
}

// trace records the leader's statements.
func trace(t testing.TB, db *DB) *[]string {
	t.Helper()
	var all []string
	between(t, db, func(statement string, run func() error) error {
		all = append(all, statement)
		return run()
	})
	return &all
}

// between puts hook between the leader and the connection.
func between(t testing.TB, db *DB, hook func(statement string, run func() error) error) {
	t.Helper()
	quiet(t, db)
	db.writer.between = hook
}

// quiet waits until the writer has no leader.
func quiet(t testing.TB, db *DB) {
	t.Helper()
	eventually(t, "the leader ends", func() bool {
		db.writer.mu.Lock()
		defer db.writer.mu.Unlock()
		return !db.writer.leading
	})
}

func equal[T any](t testing.TB, what string, got, want T) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}
