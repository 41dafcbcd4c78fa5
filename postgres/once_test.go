package postgres

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/storetest"
	"github.com/refrain-dev/refrain/upkeep"
)

func TestOnce(t *testing.T) {
	env := storetest.Env{Commit: func() error { return nil }}
	for _, level := range levels {
		t.Run(string(level)+" native", func(t *testing.T) {
			s := newShop(t, Options{Isolation: level})
			onceHolds(t, s.harness(t, env), s.Once, s.DB)
		})
		for _, driver := range sqlDrivers {
			t.Run(string(level)+" "+driver, func(t *testing.T) {
				s := newSQLShop(t, driver, Options{Isolation: level})
				onceHolds(t, s.harness(t, driver, env), s.Once, s.SQL)
			})
		}
	}
}

func onceHolds[T any](t *testing.T, h *storetest.Harness[T], once func(context.Context, T, string, string) error, k upkeep.Keeper) {
	rule, value := "invoice of the order", "o\x00\xff1"
	held := make(map[string]bool)
	holds := func(values ...string) {
		t.Helper()
		all, err := k.Onces(t.Context(), upkeep.OnceQuery{Rule: rule})
		if err != nil || len(all) != len(values) {
			t.Fatalf("it holds %+v, %v; want %q", all, err, values)
		}
		for i, o := range all {
			if o.Rule != rule || o.Value != values[i] || o.At.IsZero() || held[o.Value] != record.ValidRef(o.Ref) {
				t.Errorf("%+v, want %q", o, values[i])
			}
		}
	}
	execute := func(key string, effect func(ctx context.Context, tx T) error) error {
		_, err := h.Exec.Execute(t.Context(), keeperCall(key), func(ctx context.Context, tx T) (refrain.Result, error) { return done, effect(ctx, tx) })
		return err
	}
	failed := errors.New("failed")
	if err := execute("fails", func(ctx context.Context, tx T) error { return errors.Join(once(ctx, tx, rule, value), failed) }); !errors.Is(err, failed) {
		t.Errorf("an effect that fails: %v", err)
	}
	holds()
	held[value] = true
	if err := execute("first", func(ctx context.Context, tx T) error { return once(ctx, tx, rule, value) }); err != nil {
		t.Fatal(err)
	}
	holds(value)
	if err := execute("second", func(ctx context.Context, tx T) error {
		if err := once(ctx, tx, rule, value); !errors.Is(err, refrain.ErrTaken) {
			return fmt.Errorf("taken: %w", err)
		}
		return h.Write(ctx, tx, "the transaction goes on")
	}); err != nil {
		t.Error(err)
	}
	if rows, err := h.Effects(t.Context()); err != nil || len(rows) != 1 {
		t.Errorf("%q, %v", rows, err)
	}

	for _, commit := range []bool{false, true} {
		tx, end, err := h.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(once(t.Context(), tx, rule, "b"), once(t.Context(), tx, "another rule", value), end(commit)); err != nil {
			t.Errorf("in one's own transaction: %v", err)
		}
	}
	holds("b", value)
	tx, end, err := h.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	held["c"] = true
	_, err = h.ExecuteIn(t.Context(), tx, keeperCall("joins"), func(ctx context.Context, tx T) (refrain.Result, error) { return done, once(ctx, tx, rule, "c") })
	if err := errors.Join(err, end(true)); err != nil {
		t.Errorf("in a caller's transaction: %v", err)
	}
	holds("b", "c", value)

	if err := k.RemoveOnce(t.Context(), rule, value, "ops", "a mistake"); err != nil {
		t.Error(err)
	}
	if err := k.RemoveOnce(t.Context(), rule, value, "ops", "a mistake"); !errors.Is(err, record.ErrNotFound) {
		t.Errorf("removed twice: %v", err)
	}
	audits, err := k.Audits(t.Context(), "")
	if err != nil || len(audits) != 1 || audits[0].Action != "once-remove" || audits[0].Detail != rule {
		t.Errorf("audits %+v, %v", audits, err)
	}

	// Of two at once the second waits, and then runs into what the first took.
	waits := k.(interface{ waitsForOnce(t testing.TB) })
	taken, second := make(chan struct{}), make(chan error, 1)
	var told error
	go func() {
		<-taken
		second <- execute("loses", func(ctx context.Context, tx T) error {
			if told = once(ctx, tx, rule, value); errors.Is(told, refrain.ErrTaken) {
				return nil
			}
			return told
		})
	}()
	if err := execute("wins", func(ctx context.Context, tx T) error {
		if err := once(ctx, tx, rule, value); err != nil {
			return err
		}
		close(taken)
		waits.waitsForOnce(t)
		return nil
	}); err != nil {
		t.Error(err)
	}
	if err := <-second; err != nil || !errors.Is(told, refrain.ErrTaken) {
		t.Errorf("the second: %v, told %v", err, told)
	}
	for _, bad := range []string{"", string(make([]byte, 256))} {
		if err := execute("bad"+fmt.Sprint(len(bad)), func(ctx context.Context, tx T) error { return once(ctx, tx, rule, bad) }); !errors.Is(err, upkeep.ErrOnce) {
			t.Errorf("a value of %d bytes: %v", len(bad), err)
		}
	}
}

// waitsForOnce returns when somebody waits for another transaction's value.
func (s *Store) waitsForOnce(t testing.TB) {
	eventually(t, "somebody waits", func() bool {
		var n int64
		err := s.read.row(context.Background(), `SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE $1::text`, `%`+s.sql.schema+`.once%`).Scan(&n)
		return err != nil || n > 0
	})
}
