package refrainhttp_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/refrain-dev/refrain/refrainhttp"
)

// TestStreamCutShort: a stream that does not end well must not look whole, and
// its outcome is unknown.
func TestStreamCutShort(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(){"panic": func() { panic("boom") }, "Goexit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := wrap(t, guard, orders, func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, "part")
				w.(http.Flusher).Flush()
				end()
			})
			res := send(t, s.serve())
			if got, err := io.ReadAll(res.Body); err == nil || string(got) != "part" {
				t.Errorf("body = %q, %v", got, err)
			}
			wantProblem(t, s.settled(), 409, "outcome-unknown")
		})
	}
}

// failing writers stand for a client that has gone.
type deadClient struct{ blank }

func (deadClient) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }
func (deadClient) Flush()                    {}

// TestClientLeavesTheStream: the handler goes on to its end, so the outcome is
// known and the digest is the whole body's.
func TestClientLeavesTheStream(t *testing.T) {
	t.Parallel()
	s := wrap(t, guard, orders, func(w http.ResponseWriter, r *http.Request) {
		for range 3 {
			if _, err := io.WriteString(w, "part"); err != nil {
				t.Errorf("Write = %v", err)
			}
			if err := http.NewResponseController(w).Flush(); err != nil {
				t.Errorf("Flush = %v", err)
			}
		}
		if r.Context().Err() != nil {
			t.Errorf("context = %v", r.Context().Err())
		}
	})
	s.http.ServeHTTP(deadClient{blank{make(http.Header)}}, request(secretKey, smallOrder))
	s.wantGone(s.post(), []byte("partpartpart"))
}

// stuck is a client that does not read until its deadline.
type stuck struct {
	blank
	deadline chan struct{}
}

func (s stuck) Write([]byte) (int, error)        { <-s.deadline; return 0, io.ErrClosedPipe }
func (s stuck) SetWriteDeadline(time.Time) error { close(s.deadline); return nil }
func (s stuck) Flush()                           {}

// TestStuckClient: a handler that is blocked on a client that does not read does
// not hold up the guard beyond MaxExecution.
func TestStuckClient(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := wrap(t, guard, hasty(), func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "part")
			w.(http.Flusher).Flush()
			_, _ = io.WriteString(w, "more")
		})
		begun := time.Now()
		ended := make(chan any)
		go func() {
			defer func() { ended <- recover() }()
			s.http.ServeHTTP(stuck{blank{make(http.Header)}, make(chan struct{})}, request(secretKey, smallOrder))
		}()
		if got := <-ended; got != http.ErrAbortHandler || time.Since(begun) != 31*time.Second { //nolint:errorlint // the value itself is the signal
			t.Errorf("ended with %v after %v", got, time.Since(begun))
		}
		synctest.Wait()
		s.wantGone(s.post(), []byte("partmore"))
	})
}

// TestFreedStreamHasNoRef: it would name a record that is gone.
func TestFreedStreamHasNoRef(t *testing.T) {
	t.Parallel()
	s := wrap(t, guard, orders, func(w http.ResponseWriter, _ *http.Request) {
		refrainhttp.NotStarted(w)
		w.WriteHeader(503)
		w.(http.Flusher).Flush()
	})
	if res := s.post(); res.Header.Get("Idempotency-Ref") != "" {
		t.Errorf("header = %v", res.Header)
	}
	s.wantState(0)
}

// TestLayersAroundWrap keep their fields, and a handler cannot set ours.
func TestLayersAroundWrap(t *testing.T) {
	t.Parallel()
	for name, flush := range map[string]bool{"kept back": false, "passing": true} {
		s := wrap(t, guard, orders, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Vary", "Accept")
			w.Header().Set("Idempotent-Replayed", "true")
			w.Header().Set("Idempotency-Status", "in-progress")
			if flush {
				w.(http.Flusher).Flush()
			}
		})
		w := httptest.NewRecorder()
		w.Header().Set("Vary", "Origin")
		s.http.ServeHTTP(w, request(secretKey, smallOrder))
		h := w.Result().Header
		if got := strings.Join(h["Vary"], ","); got != "Origin,Accept" || h.Get("Idempotent-Replayed") != "" || h.Get("Idempotency-Status") != "" {
			t.Errorf("%s: header = %v", name, h)
		}
	}
}
