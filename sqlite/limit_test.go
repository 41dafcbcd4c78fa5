package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
)

// limited is a call whose effect may take a moment only.
func limited(key string) refrain.Call {
	c := named("limited", key)
	c.Contract.MaxExecution = 20 * time.Millisecond
	return c
}

// An effect that heeds its context is rolled back, whatever it returns.
func TestOverrun(t *testing.T) {
	for _, swallow := range []bool{false, true} {
		db := openShop(t)
		err := run(db, limited("k"), func(ctx context.Context, tx Tx) (refrain.Result, error) {
			if _, err := put("k")(ctx, tx); err != nil {
				return done, err
			}
			<-ctx.Done()
			if swallow {
				return done, nil
			}
			return put("too late")(ctx, tx)
		})
		wantRow(t, err, "14", refrain.ErrNotExecuted)
		wantItems(t, db)
		wantReceipt(t, db, limited("k"), false)
		wantUsable(t, db)
	}
}

// One that does not heed it loses its turn: the next member works while it
// still hangs, on the same connection.
func TestOverrunIgnored(t *testing.T) {
	db := openShop(t)
	before := db.writer.guardOf(t)
	var errs [3]error
	var late error
	neighbour := make(chan struct{})
	together(t, db,
		func() { errs[0] = run(db, call("a"), put("a")) },
		func() {
			errs[1] = run(db, limited("b"), func(ctx context.Context, tx Tx) (refrain.Result, error) {
				if _, err := put("b")(ctx, tx); err != nil {
					return done, err
				}
				<-neighbour
				_, late = tx.ExecContext(context.Background(), `INSERT INTO orders (item) VALUES ('too late')`)
				return done, nil
			})
		},
		func() {
			errs[2] = run(db, call("c"), put("c"))
			close(neighbour)
		},
	)
	if errs[0] != nil || errs[2] != nil {
		t.Errorf("neighbours: %v, %v", errs[0], errs[2])
	}
	wantRow(t, errs[1], "14", refrain.ErrNotExecuted)
	if !errors.Is(late, sql.ErrTxDone) {
		t.Errorf("the revoked handle: %v", late)
	}
	wantItems(t, db, "a", "c")
	wantReceipt(t, db, limited("b"), false)
	if after := db.writer.guardOf(t); after != before {
		t.Error("the connection was closed although the transaction stood")
	}
}

// A statement that does not end is interrupted.
func TestOverrunStatement(t *testing.T) {
	tests := map[string]struct {
		effect effect
		again  int // runs of the neighbour before it
		kept   bool
	}{
		"read": {func(ctx context.Context, tx Tx) (refrain.Result, error) {
			var n int
			err := tx.QueryRowContext(context.WithoutCancel(ctx), `SELECT count(*) FROM (`+endless+`)`).Scan(&n)
			return done, err
		}, 1, true},
		"write": {func(ctx context.Context, tx Tx) (refrain.Result, error) {
			_, _ = tx.ExecContext(ctx, `INSERT INTO orders (item) `+endless)
			return done, nil
		}, 2, false},
		"rows": {func(ctx context.Context, tx Tx) (refrain.Result, error) {
			rows, err := tx.QueryContext(context.WithoutCancel(ctx), endless)
			if err != nil {
				return done, err
			}
			for rows.Next() {
			}
			return done, rows.Close()
		}, 1, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			db := openShop(t)
			before := db.writer.guardOf(t)
			var errs [3]error
			var runs [3]int
			together(t, db,
				func() { errs[0] = run(db, call("a"), counted(&runs[0], put("a"))) },
				func() { errs[1] = run(db, limited("b"), counted(&runs[1], tt.effect)) },
				func() { errs[2] = run(db, call("c"), counted(&runs[2], put("c"))) },
			)
			if errs[0] != nil || errs[2] != nil {
				t.Errorf("neighbours: %v, %v", errs[0], errs[2])
			}
			wantRow(t, errs[1], "14", refrain.ErrNotExecuted)
			equal(t, "runs", runs, [3]int{tt.again, 1, 1})
			equal(t, "connection kept", db.writer.guardOf(t) == before, tt.kept)
			wantItems(t, db, "a", "c")
		})
	}
}

// A slow operation does not hold up a group a second time.
func TestSlowGoesAlone(t *testing.T) {
	db := openShop(t)
	slow := named("slow", "1")
	slow.Contract.MaxExecution = 2 * slowEffect
	err := run(db, slow, func(ctx context.Context, _ Tx) (refrain.Result, error) {
		<-ctx.Done()
		return done, ctx.Err()
	})
	wantRow(t, err, "14", refrain.ErrNotExecuted)
	statements := trace(t, db)
	together(t, db,
		func() { _ = run(db, call("a"), put("a")) },
		func() { _ = run(db, slow, put("slow")) },
		func() { _ = run(db, call("c"), put("c")) },
	)

	equal(t, "groups", count(*statements, "COMMIT"), 4) // the one that held the writer, and each alone
	wantItems(t, db, "a", "slow", "c")
}

// An effect that panics after its turn was taken disturbs nobody.
func TestOverrunThenPanic(t *testing.T) {
	db := openShop(t)
	revoked := make(chan struct{})
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		defer func() { _ = recover() }()
		_ = run(db, limited("k"), func(ctx context.Context, tx Tx) (refrain.Result, error) {
			<-revoked
			panic("late")
		})
	}()
	awaitQueue(t, db, 0)
	wantUsable(t, db) // waits for the turn to be taken back
	close(revoked)
	<-gone
	wantUsable(t, db)
}
