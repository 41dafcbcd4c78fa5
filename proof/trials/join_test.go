package trials

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/refrain-dev/refrain"
	refrainmysql "github.com/refrain-dev/refrain/mysql"
	"github.com/refrain-dev/refrain/postgres"
	"github.com/refrain-dev/refrain/proof/engines"
)

// joint is a transaction of the caller's that an engine joins.
type joint struct {
	run     func(query string) error
	execute func(call refrain.Call, effect func(run statement) error) (refrain.Outcome, error)
	commit  func() error
}

// begin begins one with the engine's own driver.
func begin(t *testing.T, store *server, level sql.IsolationLevel) joint {
	t.Helper()
	ctx := t.Context()
	if db, ok := store.Keeper.(*postgres.DB); ok {
		tx, err := db.Pool().BeginTx(ctx, pgx.TxOptions{IsoLevel: map[sql.IsolationLevel]pgx.TxIsoLevel{sql.LevelRepeatableRead: pgx.RepeatableRead}[level]})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = tx.Rollback(context.Background()) })
		run := func(ctx context.Context, tx postgres.Tx, query string) error {
			_, err := tx.Exec(ctx, query)
			return err
		}
		return joint{
			func(query string) error { return run(ctx, tx, query) },
			joining(ctx, tx, db.ExecuteIn, run),
			func() error { return tx.Commit(ctx) },
		}
	}
	driver := "pgx"
	if store.shop.MySQL {
		driver = "mysql"
	}
	handle, err := sql.Open(driver, store.shop.DSN(""))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = handle.Close() })
	tx, err := handle.BeginTx(ctx, &sql.TxOptions{Isolation: level})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback() })
	j := joint{run: func(query string) error { return execSQL(ctx, tx, query) }, commit: tx.Commit}
	switch db := store.Keeper.(type) {
	case *postgres.SQL:
		j.execute = joining(ctx, refrain.SQLTx(tx), db.ExecuteIn, execSQL)
	case *refrainmysql.DB:
		j.execute = joining(ctx, refrain.SQLTx(tx), db.ExecuteIn, execSQL)
	}
	return j
}

func joining[T any](ctx context.Context, tx T, in func(context.Context, T, refrain.Call, func(context.Context, T) (refrain.Result, error)) (refrain.Outcome, error), run func(context.Context, T, string) error) func(refrain.Call, func(statement) error) (refrain.Outcome, error) {
	return func(call refrain.Call, effect func(statement) error) (refrain.Outcome, error) {
		return in(ctx, tx, call, func(ctx context.Context, tx T) (refrain.Result, error) {
			err := effect(func(ctx context.Context, query string) error { return run(ctx, tx, query) })
			return refrain.Result{Body: []byte("made")}, err
		})
	}
}

func call(key, input string) refrain.Call {
	return refrain.Call{Contract: orders, Scope: refrain.Tenant("north"), Key: key, Input: []byte(input)}
}

// TestKnownKeyInCallersTransaction: a repeat inside a transaction that has written
// gives the stored result and leaves the transaction to go on and commit, within
// savepoints of the caller's, too.
func TestKnownKeyInCallersTransaction(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, room *engines.Shop) {
		for _, level := range []sql.IsolationLevel{sql.LevelDefault, sql.LevelRepeatableRead} {
			store := connect(t, emptied(t, room), session{})
			insert := func(run statement) error { return run(t.Context(), store.insert()) }
			must := func(err error) {
				t.Helper()
				if err != nil {
					t.Errorf("%v: %v", level, err)
				}
			}
			fails := func(tx joint, key string) {
				t.Helper()
				_, err := tx.execute(call(key, "1"), func(run statement) error {
					return errors.Join(insert(run), run(t.Context(), "INSERT INTO "+room.Table("orders")+" (client_key) VALUES (NULL)"))
				})
				if !errors.Is(err, refrain.ErrEffectFailed) {
					t.Errorf("%v: a statement that fails: %v", level, err)
				}
			}
			first := begin(t, store, level)
			made, err := first.execute(call("known", "1"), insert)
			must(errors.Join(err, first.commit()))

			tx := begin(t, store, level)
			must(tx.run(store.insert()))
			must(tx.run("SAVEPOINT outer_one"))
			for n := range 3 {
				again, err := tx.execute(call("known", "1"), insert)
				if err != nil || !again.Replayed || again.Ref != made.Ref || string(again.Body) != "made" {
					t.Errorf("%v: repeat %d: %+v, %v", level, n, again, err)
				}
				if _, err := tx.execute(call("known", "2"), insert); !errors.Is(err, refrain.ErrKeyReused) {
					t.Errorf("%v: another request: %v", level, err)
				}
				fails(tx, fmt.Sprint("fails ", n))
				must(tx.run(store.insert()))
			}
			must(tx.run("ROLLBACK TO SAVEPOINT outer_one"))
			must(tx.run(store.insert()))
			must(tx.run("RELEASE SAVEPOINT outer_one"))
			fails(tx, "fails at last")
			must(tx.commit())
			if n := store.rows(t); n != 3 { // the first one's, and two of the caller's
				t.Errorf("%v: %d rows, want 3", level, n)
			}
		}
	})
}

// TestRaceLostInCallersTransaction: the key was taken after the transaction's
// snapshot. The caller gets the stored result, or an error that says to begin
// anew; the effect does not happen a second time.
func TestRaceLostInCallersTransaction(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, room *engines.Shop) {
		store := connect(t, room, session{})
		insert := func(run statement) error { return run(t.Context(), store.insert()) }
		tx := begin(t, store, sql.LevelRepeatableRead)
		if err := tx.run("SELECT count(*) FROM " + room.Table("orders")); err != nil { // the snapshot
			t.Fatal(err)
		}
		winner := begin(t, store, sql.LevelDefault)
		made, err := winner.execute(call("k", "1"), insert)
		if err := errors.Join(err, winner.commit()); err != nil {
			t.Fatal(err)
		}
		out, err := tx.execute(call("k", "1"), insert)
		if errors.Is(err, refrain.ErrRetryTransaction) {
			tx = begin(t, store, sql.LevelRepeatableRead)
			out, err = tx.execute(call("k", "1"), insert)
		}
		if err != nil || !out.Replayed || out.Ref != made.Ref {
			t.Errorf("%+v, %v", out, err)
		}
		if err := tx.commit(); err != nil {
			t.Error(err)
		}
		if n := store.rows(t); n != 1 {
			t.Errorf("%d effects", n)
		}
	})
}

// TestUnusableTransaction: in a transaction that PostgreSQL has aborted nothing is
// claimed and nothing runs; the error says that it is of no more use.
func TestUnusableTransaction(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, room *engines.Shop) {
		if room.MySQL {
			t.Skip("MySQL undoes the statement that failed, not the transaction")
		}
		store := connect(t, room, session{})
		tx := begin(t, store, sql.LevelDefault)
		if err := tx.run("SELECT 1 / 0"); err == nil {
			t.Fatal("one can divide by zero")
		}
		runs := 0
		_, err := tx.execute(call("k", "1"), func(statement) error { runs++; return nil })
		if !errors.Is(err, postgres.ErrTxUnusable) && !errors.Is(err, refrain.ErrRetryTransaction) || runs != 0 {
			t.Errorf("%v after %d runs", err, runs)
		}
		if err := tx.commit(); err == nil && room.Name == engines.Pgx.Name { // database/sql has PostgreSQL's ROLLBACK for a success
			t.Error("it commits")
		}
		next := begin(t, store, sql.LevelDefault)
		out, err := next.execute(call("k", "1"), func(run statement) error { return run(t.Context(), store.insert()) })
		if err := errors.Join(err, next.commit()); err != nil || out.Replayed {
			t.Errorf("afterwards %+v, %v", out, err)
		}
	})
}
