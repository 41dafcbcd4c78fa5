package refrainhttp_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/memstore"
	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/refrainhttp"
)

var discard = log.New(io.Discard, "", 0)

// TestClientLeaves: at whatever step the client goes once the handler has
// begun, the effect happens, its result is recorded and the retry gets it.
func TestClientLeaves(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"before the effect", "after the effect", "while answering", "during COMMIT"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			var conn net.Conn
			var left atomic.Bool
			gone, finished := make(chan struct{}), make(chan struct{}, 1)
			leave := func(now string) {
				if now == step && left.CompareAndSwap(false, true) {
					_ = conn.Close()
					<-gone // the server has noticed
				}
			}
			s := open(t, orders, func(w http.ResponseWriter, r *http.Request, tx memstore.Tx) error {
				leave("before the effect")
				if err := put(r, tx); err != nil {
					return err
				}
				leave("after the effect")
				if _, _, err := tx.Get("orders", "x"); err != nil || r.Context().Err() != nil {
					t.Errorf("the second statement = %v, context %v", err, r.Context().Err())
				}
				_, _ = io.WriteString(w, "do")
				leave("while answering")
				_, err := io.WriteString(w, "ne")
				return err
			})
			s.commit = func() error { leave("during COMMIT"); return nil }
			inner, once := s.http, sync.OnceFunc(func() { close(gone) })
			s.http = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				context.AfterFunc(r.Context(), once)
				inner.ServeHTTP(w, r)
				finished <- struct{}{}
			})
			conn, _ = dial(t, s.serve())
			raw(conn, "1.1", secretKey)
			<-finished
			if !left.Load() {
				t.Fatal("the client never left")
			}
			wantReplay(t, s.post(secretKey), 200, "done")
			s.wantEffects(1)
		})
	}
}

// executor is one function as an executor.
type executor func(ctx context.Context, effect func(context.Context, memstore.Tx) (refrain.Result, error)) (refrain.Outcome, error)

func (e executor) Execute(ctx context.Context, _ refrain.Call, effect func(context.Context, memstore.Tx) (refrain.Result, error)) (refrain.Outcome, error) {
	return e(ctx, effect)
}

// TestGoneBeforeTheEffect: a client that leaves while its call still queues has
// nothing executed for it.
func TestGoneBeforeTheEffect(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	ex := executor(func(ctx context.Context, effect func(context.Context, memstore.Tx) (refrain.Result, error)) (refrain.Outcome, error) {
		cancel()
		<-ctx.Done()
		_, err := effect(ctx, memstore.Tx{})
		return refrain.Outcome{}, &record.Error{Problem: record.HandlerFailed, Err: err}
	})
	h := refrainhttp.Handle(guard, ex, orders, func(http.ResponseWriter, *http.Request, memstore.Tx) error {
		t.Error("the handler ran")
		return nil
	})
	w := httptest.NewRecorder()
	h.ServeHTTP(w, request(secretKey, smallOrder).WithContext(ctx))
	wantProblem(t, w.Result(), 500, "handler-failed")
}

// TestWaiterLeaves: a duplicate stops waiting when its client goes.
func TestWaiterLeaves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		finish := make(chan struct{})
		c := orders
		c.Wait = time.Hour
		s := open(t, c, func(w http.ResponseWriter, r *http.Request, tx memstore.Tx) error {
			<-finish
			return put(r, tx)
		})
		answers := make(chan *http.Response, 2)
		go func() { answers <- s.post(secretKey) }()
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		go func() { answers <- s.do(request(secretKey, smallOrder).WithContext(ctx)) }()
		synctest.Wait()
		begun := time.Now()
		cancel()
		wantProblem(t, <-answers, 409, "in-progress")
		if waited := time.Since(begun); waited != 0 {
			t.Errorf("it waited %v more", waited)
		}
		close(finish)
		if res := <-answers; res.StatusCode != 200 {
			t.Errorf("the first = %d", res.StatusCode)
		}
		s.wantEffects(1)
	})
}

// TestPreferOnlyShortens: the client cannot wait longer than the contract.
func TestPreferOnlyShortens(t *testing.T) {
	t.Parallel()
	for prefer, want := range map[string]time.Duration{
		"wait=1": time.Second, "wait=60": 5 * time.Second, "": 5 * time.Second, "wait=x": 5 * time.Second, "foo, WAIT = 2; a=b": 2 * time.Second,
	} {
		synctest.Test(t, func(t *testing.T) {
			finish := make(chan struct{})
			c := orders
			c.Wait = 5 * time.Second
			s := open(t, c, func(w http.ResponseWriter, r *http.Request, tx memstore.Tx) error {
				<-finish
				return nil
			})
			go s.post(secretKey)
			synctest.Wait()
			begun := time.Now()
			wantProblem(t, s.post(secretKey, "Prefer", prefer), 409, "in-progress")
			if waited := time.Since(begun); waited != want {
				t.Errorf("Prefer: %s waited %v, want %v", prefer, waited, want)
			}
			close(finish)
		})
	}
}

// TestPanic: nothing is stored, nothing of the answer gets out, the connection
// is closed, and the retry executes.
func TestPanic(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		end    func(w http.ResponseWriter)
		logged bool
	}{
		"value":                {func(http.ResponseWriter) { panic("boom") }, true},
		"http.ErrAbortHandler": {func(http.ResponseWriter) { panic(http.ErrAbortHandler) }, false},
		"after a partial write": {func(w http.ResponseWriter) {
			_, _ = io.WriteString(w, "partial")
			panic("boom")
		}, true},
		"runtime.Goexit": {func(http.ResponseWriter) { runtime.Goexit() }, false},
		"nil":            {func(http.ResponseWriter) { panic(nil) }, true}, //nolint:govet // the case under test
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var runs atomic.Int32
			s := open(t, orders, func(w http.ResponseWriter, r *http.Request, tx memstore.Tx) error {
				if err := put(r, tx); err != nil {
					return err
				}
				if runs.Add(1) == 1 {
					tt.end(w)
				}
				_, err := io.WriteString(w, "done")
				return err
			})
			var logged safeBuffer
			srv := httptest.NewUnstartedServer(s.http)
			srv.Config.ErrorLog = log.New(&logged, "", 0)
			srv.Start()
			conn, from := dial(t, srv)
			raw(conn, "1.1", secretKey)
			if left, err := io.ReadAll(from); err != nil && !errors.Is(err, io.EOF) && !isReset(err) || len(left) > 0 {
				t.Errorf("the client got %q, %v", left, err)
			}
			s.wantEffects(0)
			conn, from = dial(t, srv)
			raw(conn, "1.1", secretKey)
			if res := read(t, from); res.StatusCode != 200 || text(t, res) != "done" || res.Header.Get("Idempotent-Replayed") != "" {
				t.Errorf("retry = %d %v", res.StatusCode, res.Header)
			}
			s.wantEffects(1)
			srv.Close()
			if got := strings.Contains(logged.String(), "panic"); got != tt.logged {
				t.Errorf("logged = %q", logged.String())
			}
		})
	}
}

func isReset(err error) bool {
	var op *net.OpError
	return errors.As(err, &op)
}

type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}
