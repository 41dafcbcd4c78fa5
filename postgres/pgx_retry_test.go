package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/refrain-dev/refrain"
)

// TestRetryIsBounded: what fails for ever ends as row 14, after so many runs.
func TestRetryIsBounded(t *testing.T) {
	s := newShop(t, Options{})
	call := keeperCall("k")
	call.Contract.MaxExecution = 10 * time.Second
	runs := 0
	err := s.run(call, counted(&runs, func(ctx context.Context, tx Tx) (refrain.Result, error) {
		_, err := tx.Exec(ctx, failWith("40001"))
		return done, err
	}))
	wantRow(t, err, "14", refrain.ErrNotExecuted)
	if runs != maxAttempts || sqlState(err) != "40001" {
		t.Errorf("%d runs, %v; want %d and the last failure", runs, err, maxAttempts)
	}
	s.wantReceipt(t, keeperCall("k"), false)
	s.wantIdle(t)
}

// TestRetryKeepsTime: not longer than MaxExecution, and not without the caller.
func TestRetryKeepsTime(t *testing.T) {
	s := newShop(t, Options{})
	call := keeperCall("k")
	call.Contract.MaxExecution = time.Millisecond
	fails := func(ctx context.Context, tx Tx) (refrain.Result, error) {
		_, err := tx.Exec(context.WithoutCancel(ctx), failWith("40001"))
		return done, err
	}
	wantRow(t, s.run(call, fails), "14", refrain.ErrNotExecuted)

	ctx, cancel := context.WithCancel(t.Context())
	runs := 0
	_, err := s.Execute(ctx, keeperCall("k"), counted(&runs, func(ctx context.Context, tx Tx) (refrain.Result, error) {
		defer cancel()
		return fails(ctx, tx)
	}))
	if !errors.Is(err, context.Canceled) || runs != 1 {
		t.Errorf("Execute: %v after %d runs, want the cancellation after one", err, runs)
	}
}

// TestRetryOwnErrorsOnly: the serialization failure of another database is the
// effect's to handle.
func TestRetryOwnErrorsOnly(t *testing.T) {
	s := newShop(t, Options{})
	runs := 0
	err := s.run(keeperCall("k"), counted(&runs, func(ctx context.Context, tx Tx) (refrain.Result, error) {
		_, err := s.raw.Exec(ctx, failWith("40001"))
		return done, err
	}))
	if !errors.Is(err, refrain.ErrEffectFailed) || runs != 1 {
		t.Errorf("Execute: %v after %d runs, want the effect's failure after one", err, runs)
	}
}

// TestSerializationFailures: callers that collide on one row at the higher levels
// all end well, each once.
func TestSerializationFailures(t *testing.T) {
	for _, level := range []pgx.TxIsoLevel{pgx.RepeatableRead, pgx.Serializable} {
		s := newShop(t, Options{Isolation: level})
		s.sql0(t, `CREATE TABLE {schema}.stock (n int); INSERT INTO {schema}.stock VALUES (0)`)
		var wg sync.WaitGroup
		for _, key := range []string{"a", "b", "c", "d"} {
			wg.Go(func() {
				err := s.run(keeperCall(key), func(ctx context.Context, tx Tx) (refrain.Result, error) {
					var n int
					if err := tx.QueryRow(ctx, s.sql.text(`SELECT n FROM {schema}.stock`)).Scan(&n); err != nil {
						return done, err
					}
					_, err := tx.Exec(ctx, s.sql.text(`UPDATE {schema}.stock SET n = $1`), n+1)
					return done, err
				})
				if err != nil {
					t.Errorf("%s, %s: %v", level, key, err)
				}
			})
		}
		wg.Wait()
		var n int
		if err := s.raw.QueryRow(t.Context(), s.sql.text(`SELECT n FROM {schema}.stock`)).Scan(&n); err != nil || n != 4 {
			t.Errorf("%s: %d, %v; want 4", level, n, err)
		}
	}
}

// TestLostRace: somebody takes the identity past the advisory lock; the unique
// key decides, and the loser answers with the winner's record.
func TestLostRace(t *testing.T) {
	s := newShop(t, Options{})
	other := openShop(t, keeperURL(t), s.opts)
	other.raw = s.raw
	call := keeperCall("k")
	runs := 0
	out, err := s.Execute(t.Context(), call, counted(&runs, func(ctx context.Context, tx Tx) (refrain.Result, error) {
		other.sql.lookup = other.sql.text(fmt.Sprintf(lookupText, `$5::int8 IS NOT NULL`)) // takes what it asks for
		if _, err := other.Execute(context.Background(), call, other.put("theirs")); err != nil {
			t.Errorf("the other one: %v", err)
		}
		return done, s.order(ctx, tx, "ours")
	}))
	if err != nil || !out.Replayed || runs != 1 {
		t.Errorf("Execute = %+v, %v after %d runs; want the other's outcome", out, err, runs)
	}
	s.wantItems(t, "theirs")
}
