package postgres

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/upkeep"
)

var levels = []pgx.TxIsoLevel{pgx.ReadCommitted, pgx.RepeatableRead, pgx.Serializable}

func (s *shop) begun(t testing.TB, level pgx.TxIsoLevel) pgx.Tx {
	t.Helper()
	tx, err := s.raw.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: level})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback(context.Background()) })
	return tx
}

// TestJoinKnownKey: a repeat inside the caller's transaction answers and leaves
// the caller's writes to commit, also inside a savepoint of the caller's.
func TestJoinKnownKey(t *testing.T) {
	for _, level := range levels {
		s := newShop(t, Options{})
		if err := s.run(keeperCall("k"), s.put("first")); err != nil {
			t.Fatal(err)
		}
		tx := s.begun(t, level)
		ctx := t.Context()
		if err := s.order(ctx, tx, "callers"); err != nil {
			t.Fatal(err)
		}
		for _, in := range []func(func(pgx.Tx) error) error{
			func(f func(pgx.Tx) error) error { return f(tx) },
			func(f func(pgx.Tx) error) error { return pgx.BeginFunc(ctx, tx, f) },
		} {
			err := in(func(tx pgx.Tx) error {
				out, err := s.ExecuteIn(ctx, tx, keeperCall("k"), s.put("again"))
				if err != nil || !out.Replayed {
					t.Errorf("%s: ExecuteIn = %+v, %v; want a replay", level, out, err)
				}
				other := keeperCall("k")
				other.Input = []byte(`{"item":"other"}`)
				_, err = s.ExecuteIn(ctx, tx, other, s.put("again"))
				wantRow(t, err, "4", refrain.ErrKeyReused)
				return s.order(ctx, tx, "callers")
			})
			if err != nil {
				t.Errorf("%s: %v", level, err)
			}
		}
		if err := tx.Commit(ctx); err != nil {
			t.Errorf("%s: %v", level, err)
		}
		s.wantItems(t, "first", "callers", "callers", "callers")
	}
}

// TestJoinFresh: at every level, in the caller's savepoint, fresh and rejected.
func TestJoinFresh(t *testing.T) {
	for _, level := range levels {
		s := newShop(t, Options{})
		tx := s.begun(t, level)
		ctx := t.Context()
		err := pgx.BeginFunc(ctx, tx, func(tx pgx.Tx) error {
			_, fresh := s.ExecuteIn(ctx, tx, keeperCall("fresh"), s.put("a"))
			_, rejected := s.ExecuteIn(ctx, tx, keeperCall("rejected"), func(ctx context.Context, tx Tx) (refrain.Result, error) {
				err := s.order(ctx, tx, "undone")
				_, _ = tx.Exec(ctx, `SELECT 1 / 0`) // why it refuses, perhaps
				return refrain.Result{Rejected: true}, err
			})
			return errors.Join(fresh, rejected, tx.QueryRow(ctx, `SELECT 1`).Scan(new(int)))
		})
		if err := errors.Join(err, tx.Commit(ctx)); err != nil {
			t.Errorf("%s: %v", level, err)
		}
		s.wantItems(t, "a")
		s.wantReceipt(t, keeperCall("fresh"), true)
		s.wantReceipt(t, keeperCall("rejected"), true)
	}
}

// TestJoinHeld: an identity that a live transaction holds is told at once, and
// the caller's transaction stands.
func TestJoinHeld(t *testing.T) {
	s := newShop(t, Options{})
	ctx := t.Context()
	err := s.run(keeperCall("k"), func(context.Context, Tx) (refrain.Result, error) {
		tx := s.begun(t, pgx.ReadCommitted)
		call := keeperCall("k")
		call.Contract.Wait = time.Hour
		_, err := s.ExecuteIn(ctx, tx, call, s.put("theirs"))
		wantRow(t, err, "6a", refrain.ErrInProgress)
		return done, errors.Join(s.order(ctx, tx, "callers"), tx.Commit(ctx))
	})
	if err != nil {
		t.Fatal(err)
	}
	s.wantItems(t, "callers")
}

// TestJoinRetry: a lost race, a serialization failure and a deadlock are told as
// ErrRetryTransaction with the driver's error; what the caller wrote stands.
func TestJoinRetry(t *testing.T) {
	for _, level := range levels {
		s := newShop(t, Options{})
		ctx := t.Context()
		tx := s.begun(t, level)
		if err := s.order(ctx, tx, "callers"); err != nil { // the caller's snapshot
			t.Fatal(err)
		}
		late := keeperCall("late")
		if level != pgx.ReadCommitted {
			if err := s.run(late, s.put("theirs")); err != nil {
				t.Fatal(err)
			}
			_, err := s.ExecuteIn(ctx, tx, late, s.put("ours"))
			if !errors.Is(err, refrain.ErrRetryTransaction) || sqlState(err) == "" || errors.Is(err, ErrTxUnusable) {
				t.Errorf("%s: a lost race is told as %v", level, err)
			}
		}
		for _, state := range []string{"40001", "40P01"} {
			_, err := s.ExecuteIn(ctx, tx, keeperCall(state), func(ctx context.Context, tx Tx) (refrain.Result, error) {
				_, _ = tx.Exec(ctx, failWith(state))
				return done, nil
			})
			if !errors.Is(err, refrain.ErrRetryTransaction) || sqlState(err) != state {
				t.Errorf("%s: %s is told as %v", level, state, err)
			}
		}
		if err := tx.QueryRow(ctx, `SELECT 1`).Scan(new(int)); err != nil {
			t.Errorf("%s: afterwards: %v", level, err)
		}
	}
}

// TestJoinSwallowedError: an effect that ignores a failed statement is taken back,
// the caller's transaction is not.
func TestJoinSwallowedError(t *testing.T) {
	s := newShop(t, Options{})
	ctx := t.Context()
	tx := s.begun(t, pgx.ReadCommitted)
	_, err := s.ExecuteIn(ctx, tx, keeperCall("k"), func(ctx context.Context, tx Tx) (refrain.Result, error) {
		err := s.order(ctx, tx, "undone")
		_, _ = tx.Exec(ctx, `SELECT 1 / 0`)
		return done, err
	})
	if !errors.Is(err, refrain.ErrEffectFailed) || sqlState(err) != "22012" {
		t.Errorf("ExecuteIn: %v", err)
	}
	_, err = s.ExecuteIn(ctx, tx, keeperCall("k"), func(ctx context.Context, tx Tx) (refrain.Result, error) {
		return done, tx.Rollback(ctx)
	})
	if !errors.Is(err, refrain.ErrOwned) {
		t.Errorf("Rollback in an effect: %v", err)
	}
	if err := errors.Join(s.order(ctx, tx, "callers"), tx.Commit(ctx)); err != nil {
		t.Error(err)
	}
	s.wantItems(t, "callers")
	s.wantReceipt(t, keeperCall("k"), false)
}

// TestJoinUnusable: a transaction that failed before is told as such, and so is
// one that breaks.
func TestJoinUnusable(t *testing.T) {
	s := newShop(t, Options{})
	ctx := t.Context()
	tx := s.begun(t, pgx.ReadCommitted)
	_, _ = tx.Exec(ctx, `SELECT 1 / 0`)
	_, err := s.ExecuteIn(ctx, tx, keeperCall("k"), s.put("a"))
	wantRow(t, err, "9", refrain.ErrUnavailable)
	if !errors.Is(err, ErrTxUnusable) {
		t.Errorf("ExecuteIn in a failed transaction: %v", err)
	}
	tx = s.begun(t, pgx.ReadCommitted)
	_, err = s.ExecuteIn(ctx, tx, keeperCall("k"), func(ctx context.Context, tx Tx) (refrain.Result, error) {
		_ = tx.Conn().Close(ctx)
		return done, nil
	})
	if !errors.Is(err, ErrTxUnusable) {
		t.Errorf("ExecuteIn on a broken connection: %v", err)
	}
	s.wantReceipt(t, keeperCall("k"), false)
}

// TestJoinOtherDatabase: a transaction of another database is refused, though its
// tables have the same names; another name of the same one is not.
func TestJoinOtherDatabase(t *testing.T) {
	s := newShop(t, Options{})
	other := otherDatabase(t, s)
	tx, err := other.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(context.Background())
	_, err = s.ExecuteIn(t.Context(), tx, keeperCall("k"), func(context.Context, Tx) (refrain.Result, error) {
		t.Error("the effect ran")
		return done, nil
	})
	wantRow(t, err, "9", refrain.ErrUnavailable)
	if !errors.Is(err, ErrOtherDatabase) {
		t.Errorf("ExecuteIn: %v, want ErrOtherDatabase", err)
	}
	if err := tx.QueryRow(t.Context(), `SELECT 1`).Scan(new(int)); err != nil {
		t.Errorf("afterwards: %v", err)
	}

	config := s.conns.Config()
	config.ConnConfig.Host = "localhost"
	config.MaxConns = 1
	alias, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer alias.Close()
	if err := alias.Ping(t.Context()); err != nil {
		unmet(t, "the server has no other name: %v", err)
	}
	err = pgx.BeginFunc(t.Context(), alias, func(tx pgx.Tx) error {
		_, err := s.ExecuteIn(t.Context(), tx, keeperCall("k"), s.put("a"))
		return err
	})
	if err != nil {
		t.Errorf("by another name: %v", err)
	}
	s.wantItems(t, "a")
}

// otherDatabase has a migrated schema of the same name.
func otherDatabase(t testing.TB, s *shop) *pgxpool.Pool {
	t.Helper()
	config := s.conns.Config()
	config.ConnConfig.Database = "postgres"
	config.MaxConns = 2
	if config.ConnConfig.Database == s.conns.Config().ConnConfig.Database {
		unmet(t, "REFRAIN_TEST_POSTGRES names the database the twin would be in")
	}
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	if err := pool.Ping(t.Context()); err != nil {
		unmet(t, "no other database to be had: %v", err)
	}
	twin, err := New(pool, s.opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := pool.Exec(context.Background(), `DROP SCHEMA `+s.sql.schema+` CASCADE`); err != nil {
			t.Error(err)
		}
	})
	if err := twin.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return pool
}

// unmet skips a test whose server lacks something, or fails it where servers are
// required.
func unmet(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Getenv("REFRAIN_REQUIRE_SERVICES") == "1" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

// Who joined a transaction above READ COMMITTED and leaves it open holds the
// operation's row. A reaper gives up soon, and a process that starts does not wait.
func TestReapBesideOpenTransaction(t *testing.T) {
	now := time.Now().Add(-time.Hour)
	s := newShop(t, Options{Now: func() time.Time { return now }})
	old := keeperCall("01938e85-1000-7000-8000-000000000001") // its birth raises the horizon
	if err := s.run(old, s.put("old")); err != nil {
		t.Fatal(err)
	}
	if err := s.Register(t.Context(), old.Contract); err != nil {
		t.Fatal(err)
	}
	now = now.AddDate(20, 0, 0)
	tx, err := s.raw.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.Background()) }()
	if _, err := s.ExecuteIn(t.Context(), tx, keeperCall("joined"), s.put("joined")); err != nil {
		t.Fatal(err)
	}
	if err := s.Register(t.Context(), old.Contract); err != nil {
		t.Errorf("Register: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if _, err := s.Reap(ctx, upkeep.Reap{}); sqlState(err) != "55P03" {
		t.Errorf("Reap: %v, want a lock timeout", err)
	}
	if err := s.run(keeperCall("meanwhile"), s.put("meanwhile")); err != nil {
		t.Error(err)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if done, err := s.Reap(t.Context(), upkeep.Reap{}); err != nil || done.Forgotten != 1 {
		t.Errorf("Reap: %+v, %v", done, err)
	}
}
