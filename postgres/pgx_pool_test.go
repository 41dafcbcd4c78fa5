package postgres

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/refrain-dev/refrain"
)

// TestHerd: duplicates of one key, here and in another process, hold no
// connection of a pool of four, and a stream of other keys passes them.
func TestHerd(t *testing.T) {
	s := newShop(t, Options{})
	other := openShop(t, keeperURL(t), s.opts)
	other.raw = s.raw
	running, release := make(chan struct{}), make(chan struct{})
	began := sync.OnceFunc(func() { close(running) })
	var herd, stream sync.WaitGroup
	slow := keeperCall("slow")
	slow.Contract.Wait = 30 * time.Second
	herd.Go(func() {
		if err := s.run(slow, func(ctx context.Context, tx Tx) (refrain.Result, error) {
			began()
			<-release
			return done, s.order(ctx, tx, "slow")
		}); err != nil {
			t.Error(err)
			began()
		}
	})
	<-running
	var mu sync.Mutex
	fresh := 0
	for i := range 64 {
		through := []*shop{s, other}[i%2]
		herd.Go(func() {
			out, err := through.Execute(context.Background(), slow, s.put("again"))
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Errorf("a duplicate: %v", err)
			} else if !out.Replayed {
				fresh++
			}
		})
	}
	for i := range 8 {
		stream.Go(func() {
			for j := range 5 {
				key := fmt.Sprint(i, "-", j)
				if err := s.run(keeperCall(key), func(context.Context, Tx) (refrain.Result, error) { return done, nil }); err != nil {
					t.Errorf("another key: %v", err)
				}
			}
		})
	}
	stream.Wait()
	eventually(t, "the herd holds one connection", func() bool { return s.conns.Stat().AcquiredConns() == 1 })
	close(release)
	herd.Wait()
	same(t, "fresh duplicates", fresh, 0)
	s.wantItems(t, "slow")
	s.wantIdle(t)
	other.wantIdle(t)
}

// TestOverrun: the bounded context ends the effect's statement, also one that the
// effect runs on a context of its own, and every connection comes back.
func TestOverrun(t *testing.T) {
	s := newShop(t, Options{})
	call := keeperCall("k")
	call.Contract.MaxExecution = 50 * time.Millisecond
	for name, own := range map[string]func(context.Context) context.Context{
		"its context":       func(ctx context.Context) context.Context { return ctx },
		"another context":   func(context.Context) context.Context { return context.Background() },
		"a derived context": context.WithoutCancel,
	} {
		started := time.Now()
		err := s.run(call, func(ctx context.Context, tx Tx) (refrain.Result, error) {
			err := s.order(ctx, tx, "undone")
			_, _ = tx.Exec(own(ctx), `SELECT pg_sleep(8)`)
			return done, err
		})
		wantRow(t, err, "14", refrain.ErrNotExecuted)
		if took := time.Since(started); took > 6*time.Second {
			t.Errorf("%s: it took %v", name, took)
		}
	}
	s.wantItems(t)
	s.wantIdle(t)
	eventually(t, "the identity is free", func() bool { return s.run(keeperCall("k"), s.put("a")) == nil })
	s.wantItems(t, "a")
}

// TestAbandoned: a panic and runtime.Goexit roll back and give the connection
// back, whatever was left open.
func TestAbandoned(t *testing.T) {
	s := newShop(t, Options{})
	leave := func(how func()) effect {
		return func(ctx context.Context, tx Tx) (refrain.Result, error) {
			if err := s.order(ctx, tx, "undone"); err != nil {
				return done, err
			}
			rows, err := tx.Query(ctx, `SELECT generate_series(1, 1000)`)
			if err != nil {
				return done, err
			}
			rows.Next()
			how()
			return done, nil
		}
	}
	var gone sync.WaitGroup
	gone.Go(func() { _ = s.run(keeperCall("exits"), leave(runtime.Goexit)) })
	gone.Go(func() {
		defer func() { same(t, "the panic", recover(), any("boom")) }()
		_ = s.run(keeperCall("panics"), leave(func() { panic("boom") }))
	})
	gone.Wait()
	s.wantIdle(t)
	s.wantItems(t)
	for _, key := range []string{"exits", "panics"} {
		if err := s.run(keeperCall(key), s.put(key)); err != nil {
			t.Error(err)
		}
	}
	s.wantItems(t, "exits", "panics")
}

// TestNoConnection: a call that gets no connection in time is row 9.
func TestNoConnection(t *testing.T) {
	s := newShop(t, Options{}, func(c *pgxpool.Config) { c.MaxConns = 1 })
	patient := s.opts.Busy
	if err := s.run(keeperCall("k"), func(context.Context, Tx) (refrain.Result, error) {
		ran := false
		s.opts.Busy = 30 * time.Millisecond
		wantRow(t, s.run(keeperCall("other"), func(context.Context, Tx) (refrain.Result, error) {
			ran = true
			return done, nil
		}), "9", refrain.ErrUnavailable)
		s.opts.Busy = patient
		same(t, "the other effect ran", ran, false)
		return done, nil
	}); err != nil {
		t.Error(err)
	}
}

// TestDeadConnections: idle connections that a restart of the server has broken
// cost nobody an error.
func TestDeadConnections(t *testing.T) {
	s := newShop(t, Options{})
	s.fill(t)
	if err := s.run(keeperCall("known"), s.put("known")); err != nil {
		t.Fatal(err)
	}
	kill := func() {
		_, err := s.raw.Exec(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1`, s.mark)
		if err != nil {
			t.Fatal(err)
		}
	}
	name := func() {
		for _, c := range s.conns.AcquireAllIdle(t.Context()) {
			if _, err := c.Exec(t.Context(), `SET application_name = '`+s.mark+`'`); err != nil {
				t.Error(err)
			}
			c.Release()
		}
	}
	name()
	kill()
	if err := s.run(keeperCall("k"), s.put("a")); err != nil {
		t.Errorf("a fresh action: %v", err)
	}
	s.fill(t)
	name()
	kill()
	if out, err := s.Execute(t.Context(), keeperCall("known"), s.put("again")); err != nil || !out.Replayed {
		t.Errorf("a repeat: %+v, %v", out, err)
	}
	s.fill(t)
	name()
	kill()
	if err := s.Register(t.Context(), keeperContract); err != nil {
		t.Errorf("upkeep: %v", err)
	}
}

// fill makes the pool open all its connections.
func (s *shop) fill(t testing.TB) {
	t.Helper()
	var all []*pgxpool.Conn
	for range s.pool {
		c, err := s.conns.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	for _, c := range all {
		c.Release()
	}
}

// TestClose waits for what is under way and lets nothing in any more.
func TestClose(t *testing.T) {
	s := newShop(t, Options{})
	running, release := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := s.run(keeperCall("k"), func(ctx context.Context, tx Tx) (refrain.Result, error) {
			close(running)
			<-release
			return done, s.order(ctx, tx, "a")
		}); err != nil {
			t.Error(err)
		}
	})
	<-running
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := s.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Close beside an effect: %v", err)
	}
	wantRow(t, s.run(keeperCall("later"), s.put("b")), "9", refrain.ErrUnavailable)
	close(release)
	wg.Wait()
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
	s.wantItems(t, "a")
}
