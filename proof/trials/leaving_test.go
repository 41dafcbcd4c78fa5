package trials

import (
	"context"
	"errors"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestClientLeaves: at whatever step of a run the client closes its socket, the
// effect happens, its result is kept and the retry gets it.
func TestClientLeaves(t *testing.T) {
	each(t, func(t *testing.T, newEngine func(*testing.T, func() time.Time) engine) {
		for _, step := range []string{"before the effect", "after the effect", "while answering", "before COMMIT"} {
			t.Run(step, func(t *testing.T) {
				var left atomic.Bool
				var w *wire
				gone, finished := make(chan struct{}), make(chan struct{}, 2)
				leave := func(now string) {
					if now == step && left.CompareAndSwap(false, true) {
						_ = w.conn.Close()
						<-gone // the server has noticed
					}
				}
				h := func(rw http.ResponseWriter, r *http.Request, put func() error) error {
					leave("before the effect")
					if err := put(); err != nil {
						return err
					}
					leave("after the effect")
					if err := errors.Join(put(), r.Context().Err()); err != nil {
						t.Errorf("the second statement: %v", err)
					}
					rw.WriteHeader(201)
					_, _ = io.WriteString(rw, "do")
					leave("while answering")
					_, err := io.WriteString(rw, "ne")
					leave("before COMMIT")
					return err
				}
				s := open(t, newEngine, guard, orders, h)
				guarded, once := s.store.guarded(guard, orders, h), sync.OnceFunc(func() { close(gone) })
				s.mount(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					context.AfterFunc(r.Context(), once)
					guarded.ServeHTTP(w, r)
					finished <- struct{}{}
				}))
				w = s.dial()
				w.post("1.1", "Idempotency-Key: k")
				<-finished
				if !left.Load() {
					t.Fatal("the client never left")
				}
				wantReplay(t, s.post("k", order), answer{status: 201, body: "done"})
				s.wantEffects(2) // two rows of one run
			})
		}
	})
}

// TestClientLeavesTheLine: a client that leaves before its handler has begun,
// because another action holds the writer, has nothing executed for it.
func TestClientLeavesTheLine(t *testing.T) {
	each(t, func(t *testing.T, newEngine func(*testing.T, func() time.Time) engine) {
		run, gated := newGate(), atomic.Bool{}
		gated.Store(true)
		h := func(w http.ResponseWriter, r *http.Request, put func() error) error {
			if gated.Load() {
				return run.create(w, r, put)
			}
			return create(w, r, put)
		}
		s := open(t, newEngine, guard, orders, h)
		guarded := s.store.guarded(guard, orders, h)
		entered, finished := make(chan struct{}, 5), make(chan struct{}, 5)
		s.mount(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			entered <- struct{}{}
			guarded.ServeHTTP(w, r)
			finished <- struct{}{}
		}))
		first := make(chan answer, 1)
		go func() { first <- s.post("k", order) }()
		<-run.inside
		<-entered
		ctx, leave := context.WithCancel(t.Context())
		left := make(chan error, 1)
		go func() {
			_, err := s.try(s.request(ctx, "l", order))
			left <- err
		}()
		<-entered
		leave()
		if err := <-left; err == nil {
			t.Error("the client has an answer: the trial shows nothing")
		}
		<-finished // the one who left, since the first still runs
		gated.Store(false)
		close(run.goOn)
		wantFresh(t, <-first, 201)
		s.wantEffects(1)
		wantFresh(t, s.post("l", order), 201)
		s.wantEffects(2)
	})
}

// TestWaiterLeaves: a client that leaves while it waits for somebody else's run
// leaves nothing behind.
func TestWaiterLeaves(t *testing.T) {
	each(t, func(t *testing.T, newEngine func(*testing.T, func() time.Time) engine) {
		run := newGate()
		s := open(t, newEngine, guard, orders, run.create)
		first := make(chan answer, 1)
		go func() { first <- s.post("k", order) }()
		<-run.inside
		for _, body := range []string{order, other} {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			if a, err := s.try(s.request(ctx, "k", body)); err == nil {
				t.Errorf("the waiter was answered %v", a)
			}
			cancel()
		}
		close(run.goOn)
		made := <-first
		wantFresh(t, made, 201)
		wantReplay(t, s.post("k", order), made)
		s.wantEffects(1)
	})
}

// TestHandlerThatDoesNotReturn: a panic of any kind and runtime.Goexit store
// nothing, show nothing, hold nothing, and the retry executes.
func TestHandlerThatDoesNotReturn(t *testing.T) {
	each(t, func(t *testing.T, newEngine func(*testing.T, func() time.Time) engine) {
		for name, tt := range map[string]struct {
			end    func(w http.ResponseWriter)
			logged bool
		}{
			"a value":              {func(http.ResponseWriter) { panic("boom") }, true},
			"http.ErrAbortHandler": {func(http.ResponseWriter) { panic(http.ErrAbortHandler) }, false},
			"after a partial answer": {func(w http.ResponseWriter) {
				w.WriteHeader(201)
				_, _ = io.WriteString(w, "partial")
				panic("boom")
			}, true},
			"runtime.Goexit": {func(http.ResponseWriter) { runtime.Goexit() }, false},
			"nil":            {func(http.ResponseWriter) { panic(nil) }, true}, //nolint:govet // the case under test
		} {
			t.Run(name, func(t *testing.T) {
				ending := true
				s := open(t, newEngine, guard, orders, func(w http.ResponseWriter, r *http.Request, put func() error) error {
					if err := put(); err != nil {
						return err
					}
					if ending {
						tt.end(w)
					}
					return create(w, r, func() error { return nil })
				})
				w := s.dial()
				w.post("1.1", "Idempotency-Key: k")
				if got, _ := io.ReadAll(w.from); len(got) > 0 { // the connection is closed, or this hangs
					t.Errorf("the client got %q", got)
				}
				s.wantEffects(0)
				ending = false
				wantFresh(t, s.post("l", order), 201) // the writer is free
				wantFresh(t, s.post("k", order), 201)
				s.wantEffects(2)
				if logged := strings.Contains(s.log.String(), "panic"); logged != tt.logged {
					t.Errorf("the server logged %q", s.log.String())
				}
			})
		}
	})
}
