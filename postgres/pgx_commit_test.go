package postgres

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/refrain-dev/refrain"
)

// onCommit puts hook around the first COMMIT of an effect.
func (s *shop) onCommit(hook func(run func() error) error) {
	var first atomic.Bool
	s.between = func(_ string, run func() error) error {
		if first.CompareAndSwap(false, true) {
			return hook(run)
		}
		return run()
	}
}

// broken breaks the connection while it sends COMMIT, once its statements are
// prepared.
func (s *shop) broken(t testing.TB, w *cable, f fault) {
	t.Helper()
	if err := s.run(keeperCall("warm"), func(context.Context, Tx) (refrain.Result, error) { return done, nil }); err != nil {
		t.Fatal(err)
	}
	s.onCommit(func(run func() error) error {
		w.set(f)
		defer w.set(healthy)
		return run()
	})
}

// TestCommitAnswerLost: COMMIT arrived and its answer did not; the engine finds
// its own record and tells of it as its own.
func TestCommitAnswerLost(t *testing.T) {
	var w cable
	s := newShop(t, Options{}, w.dress)
	s.broken(t, &w, deaf)
	runs := 0
	out, err := s.Execute(t.Context(), keeperCall("k"), counted(&runs, s.put("a")))
	if err != nil || out.Replayed || runs != 1 {
		t.Errorf("Execute = %+v, %v after %d runs; want its own outcome", out, err, runs)
	}
	s.wantItems(t, "a")
	s.wantReceipt(t, keeperCall("k"), true)
	s.wantIdle(t)
}

// TestCommitNeverArrived: nobody got the COMMIT; the effect runs once more.
func TestCommitNeverArrived(t *testing.T) {
	var w cable
	s := newShop(t, Options{}, w.dress)
	s.broken(t, &w, mute)
	runs := 0
	out, err := s.Execute(t.Context(), keeperCall("k"), counted(&runs, s.put("a")))
	if err != nil || out.Replayed || runs != 2 {
		t.Errorf("Execute = %+v, %v after %d runs; want an outcome after two", out, err, runs)
	}
	s.wantItems(t, "a")
	s.wantIdle(t)
}

// TestCommitUnderWay: the answer is lost while COMMIT is under way still. That
// the record is not found is no evidence then.
func TestCommitUnderWay(t *testing.T) {
	var w cable
	s := newShop(t, Options{}, w.dress)
	s.broken(t, &w, belated)
	var wg sync.WaitGroup
	wg.Go(func() {
		eventually(t, "COMMIT is under way", func() bool { return w.holding() > 0 })
		from := w.turns.Load()
		eventually(t, "the engine looks for its record", func() bool { return w.turns.Load() > from+4 })
		w.deliver()
	})
	runs := 0
	out, err := s.Execute(t.Context(), keeperCall("k"), counted(&runs, s.put("a")))
	wg.Wait()
	if err != nil || out.Replayed || runs != 1 {
		t.Errorf("Execute = %+v, %v after %d runs; want its own outcome", out, err, runs)
	}
	s.wantItems(t, "a")
}

// TestCommitUnknown: as long as nobody can tell, nothing is told, and nothing
// runs.
func TestCommitUnknown(t *testing.T) {
	var w cable
	s := newShop(t, Options{}, w.dress)
	s.broken(t, &w, belated)
	call := keeperCall("k")
	call.Contract.CommitWait = 50 * time.Millisecond
	runs := 0
	wantRow(t, s.run(call, counted(&runs, s.put("a"))), "10", refrain.ErrCommitUnknown)
	w.deliver()
	eventually(t, "the COMMIT happens", func() bool {
		out, err := s.Execute(t.Context(), call, counted(&runs, s.put("a")))
		return err == nil && out.Replayed
	})
	same(t, "runs", runs, 1)
	s.wantItems(t, "a")
}

// TestCommitLate: a caller is released after CommitWait, the connection waits on,
// and beyond a few such nothing is begun. Repeats are answered as before.
func TestCommitLate(t *testing.T) {
	var w cable
	s := newShop(t, Options{}, w.dress)
	known := keeperCall("known")
	if err := s.run(known, s.put("known")); err != nil {
		t.Fatal(err)
	}
	s.between = func(_ string, run func() error) error {
		w.set(unbroken)
		return run()
	}
	var late []refrain.Call
	for _, key := range []string{"a", "b", "c", "d"}[:s.most] {
		call := keeperCall(key)
		call.Contract.CommitWait = 20 * time.Millisecond
		late = append(late, call)
		wantRow(t, s.run(call, s.put(key)), "10", refrain.ErrCommitUnknown)
		eventually(t, "COMMIT waits", func() bool { return w.holding() == len(late) })
		w.set(healthy)
	}
	ran := false
	wantRow(t, s.run(keeperCall("beyond"), func(context.Context, Tx) (refrain.Result, error) {
		ran = true
		return done, nil
	}), "9", refrain.ErrUnavailable)
	if ran {
		t.Error("an effect ran although too many COMMITs have no answer")
	}
	out, err := s.Execute(t.Context(), known, s.put("again"))
	if err != nil || !out.Replayed {
		t.Errorf("a repeat meanwhile: %+v, %v", out, err)
	}
	w.deliver()
	s.wantIdle(t)
	s.between = func(_ string, run func() error) error { return run() }
	want := []string{"known"}
	for _, call := range late {
		out, err := s.Execute(t.Context(), call, s.put("again"))
		if err != nil || !out.Replayed {
			t.Errorf("%s after its late COMMIT: %+v, %v", call.Key, out, err)
		}
		want = append(want, call.Key)
	}
	if err := s.run(keeperCall("beyond"), s.put("beyond")); err != nil {
		t.Error(err)
	}
	s.wantItems(t, append(want, "beyond")...)
}

// TestCommitIsNobodysToCancel: a caller that goes away while COMMIT is under way
// does not cut it short.
func TestCommitIsNobodysToCancel(t *testing.T) {
	s := newShop(t, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	s.onCommit(func(run func() error) error {
		cancel()
		return run()
	})
	if _, err := s.Execute(ctx, keeperCall("k"), s.put("a")); err != nil {
		t.Errorf("Execute: %v; the effect was done", err)
	}
	s.wantItems(t, "a")
	s.wantReceipt(t, keeperCall("k"), true)
}

// TestCommitWithoutTimeout: a statement timeout does not reach the record and
// COMMIT.
func TestCommitWithoutTimeout(t *testing.T) {
	s := newShop(t, Options{}, func(c *pgxpool.Config) { c.MaxConns = 1 })
	s.sql0(t, `CREATE FUNCTION {schema}.linger() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(0.3); RETURN NEW; END'`)
	s.sql0(t, `CREATE TRIGGER linger BEFORE INSERT ON {schema}.record FOR EACH ROW EXECUTE FUNCTION {schema}.linger()`)
	conn, err := s.conns.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, err = conn.Exec(t.Context(), `SET statement_timeout = '100ms'`)
	conn.Release()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.run(keeperCall("k"), s.put("a")); err != nil {
		t.Errorf("Execute: %v", err)
	}
	s.wantItems(t, "a")
}

// TestCommitFails: a deferred constraint fails COMMIT; that is the effect's own
// failure, and nothing of it stays.
func TestCommitFails(t *testing.T) {
	s := newShop(t, Options{})
	s.sql0(t, `ALTER TABLE {schema}.orders ADD CONSTRAINT orders_once UNIQUE (item) DEFERRABLE INITIALLY DEFERRED`)
	s.sql0(t, `INSERT INTO {schema}.orders VALUES ('a')`)
	runs := 0
	err := s.run(keeperCall("k"), counted(&runs, s.put("a")))
	var refusal *refrain.Error
	if !errors.Is(err, refrain.ErrEffectFailed) || !errors.As(err, &refusal) || !refusal.Wrote || sqlState(err) != "23505" {
		t.Errorf("Execute: %v", err)
	}
	same(t, "runs", runs, 1)
	s.wantItems(t, "a")
	s.wantReceipt(t, keeperCall("k"), false)
	s.wantIdle(t)
}
