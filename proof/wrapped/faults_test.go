//go:build unix

package wrapped

import (
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/refrainhttp"
)

// counter is a server in this process; its handler's runs are the effects.
type counter struct {
	url   string
	runs  atomic.Int32
	store *flaky
}

func serve(t *testing.T, s Setting, h http.HandlerFunc) *counter {
	t.Helper()
	s.Busy = time.Minute // these trials choose their faults themselves
	db, err := s.open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close(context.Background()) })
	n := &counter{store: &flaky{Store: db}}
	srv := httptest.NewUnstartedServer(refrainhttp.Wrap(s.guard(), n.store, s.contract(), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n.runs.Add(1)
		h(w, r)
	})))
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.Start()
	t.Cleanup(srv.Close)
	n.url = srv.URL
	return n
}

// flaky is a store whose writes fail while it is told so.
type flaky struct {
	record.Store
	mu   sync.Mutex
	from int // the write from which on they fail; 0 is never
	lose bool
	n    int
}

var errGone = errors.New("the store is gone")

func (f *flaky) Change(ctx context.Context, id record.Identity, decide func(record.Seen, time.Time) (record.Edit, error)) error {
	f.mu.Lock()
	f.n++
	fails, lose := f.from > 0 && f.n >= f.from, f.lose
	f.mu.Unlock()
	if fails && !lose {
		return errGone
	}
	err := f.Store.Change(ctx, id, decide)
	if fails {
		return errGone
	}
	return err
}

func (f *flaky) fail(from int, lose bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.from, f.lose = from, lose
}

// TestFaults: what becomes of a retry after each way a first request can end.
// No line of it runs the handler again, and none is in progress after a lease.
func TestFaults(t *testing.T) {
	over(t, func(t *testing.T, scene func(testing.TB) Setting) {
		status := func(code int) http.HandlerFunc {
			return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
		}
		for name, tt := range map[string]struct {
			handler http.HandlerFunc
			from    int  // the write from which on the store fails
			lose    bool // they happen and only their answer is lost
			status  int  // of a retry
			problem string
		}{
			"success":                   {status(201), 0, false, 201, ""},
			"redirect":                  {status(303), 0, false, 303, ""},
			"404 from a hop behind":     {status(404), 0, false, 404, ""},
			"429 from a hop behind":     {status(429), 0, false, 409, "outcome-unknown"},
			"401 from a hop behind":     {status(401), 0, false, 409, "outcome-unknown"},
			"503":                       {status(503), 0, false, 409, "outcome-unknown"},
			"504":                       {status(504), 0, false, 409, "outcome-unknown"},
			"panic":                     {func(http.ResponseWriter, *http.Request) { panic("boom") }, 0, false, 409, "outcome-unknown"},
			"abort":                     {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, 0, false, 409, "outcome-unknown"},
			"silence":                   {func(http.ResponseWriter, *http.Request) {}, 0, false, 200, ""},
			"shorter than declared":     {short, 0, false, 409, "outcome-unknown"},
			"stream":                    {streaming, 0, false, 410, "result-gone"},
			"17 MiB":                    {large, 0, false, 410, "result-gone"},
			"hijack":                    {hijacking, 0, false, 409, "outcome-unknown"},
			"claim's answer lost":       {status(201), 1, true, 201, ""},
			"completion refused":        {status(201), 2, false, 409, "outcome-unknown"},
			"completion's answer lost":  {status(201), 2, true, 201, ""},
			"unknown, and not recorded": {status(503), 2, false, 409, "outcome-unknown"},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				n := serve(t, scene(t), tt.handler)
				n.store.fail(tt.from, tt.lose)
				post(n.url)
				for tt.from == 0 && n.runs.Load() == 0 { // a busy server refuses before anything begins
					post(n.url)
				}
				n.store.fail(0, false)
				for range 2 {
					if a := settle(t, n.url); a.status != tt.status || a.problem() != tt.problem || tt.problem == "" && !a.replayed() {
						t.Errorf("retry = %d %q %q", a.status, a.problem(), a.body)
					}
				}
				if got := n.runs.Load(); got != 1 {
					t.Errorf("the handler ran %d times", got)
				}
			})
		}
	})
}

func short(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "10")
	_, _ = io.WriteString(w, "short")
}

func streaming(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	for range 3 {
		_, _ = io.WriteString(w, "data: x\n\n")
		_ = http.NewResponseController(w).Flush()
	}
}

func large(w http.ResponseWriter, _ *http.Request) {
	for range 17 {
		_, _ = w.Write(make([]byte, 1<<20))
	}
}

func hijacking(w http.ResponseWriter, _ *http.Request) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err == nil {
		_ = conn.Close()
	}
}

// TestClientLeaves before the handler ends: the handler is not disturbed, and
// the retry gets its answer.
func TestClientLeaves(t *testing.T) {
	over(t, func(t *testing.T, scene func(testing.TB) Setting) {
		ctx, leave := context.WithCancel(t.Context())
		left := make(chan struct{})
		n := serve(t, scene(t), func(w http.ResponseWriter, r *http.Request) {
			leave()
			<-left
			if r.Context().Err() != nil {
				t.Errorf("the handler's context = %v", r.Context().Err())
			}
			w.WriteHeader(http.StatusCreated)
		})
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, n.url, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Idempotency-Key", key)
		res, err := http.DefaultTransport.RoundTrip(r)
		if err == nil {
			_ = res.Body.Close()
			t.Fatalf("the client got %d", res.StatusCode)
		}
		close(left)
		for {
			again := r.Clone(t.Context())
			res, err := http.DefaultTransport.RoundTrip(again)
			if err != nil {
				t.Fatal(err)
			}
			_ = res.Body.Close()
			if res.Header.Get("Idempotency-Status") == "in-progress" {
				continue
			}
			if res.StatusCode != 201 || res.Header.Get("Idempotent-Replayed") != "true" {
				t.Errorf("retry = %d %v", res.StatusCode, res.Header)
			}
			break
		}
		if got := n.runs.Load(); got != 1 {
			t.Errorf("the handler ran %d times", got)
		}
	})
}

// TestHandlerOutlivesItsLease: it is extended, in real time and on a real file.
func TestHandlerOutlivesItsLease(t *testing.T) {
	over(t, func(t *testing.T, scene func(testing.TB) Setting) {
		const lease = 10 * time.Second // a busy disk keeps no extension waiting that long
		s := scene(t)
		s.Lease = lease
		began, end := make(chan struct{}), make(chan struct{})
		n := serve(t, s, func(w http.ResponseWriter, _ *http.Request) {
			close(began)
			<-end
			w.WriteHeader(http.StatusCreated)
		})
		first := make(chan answer, 1)
		go func() { first <- post(n.url) }()
		<-began
		for begun := time.Now(); time.Since(begun) < lease*3/2; {
			if a := post(n.url); a.problem() != "in-progress" {
				t.Fatalf("after %v: %d %s", time.Since(begun), a.status, a.problem())
			}
		}
		close(end)
		if a := <-first; a.status != 201 {
			t.Errorf("first = %d", a.status)
		}
		if a := post(n.url); a.status != 201 || !a.replayed() {
			t.Errorf("retry = %d", a.status)
		}
		if got := n.runs.Load(); got != 1 {
			t.Errorf("the handler ran %d times", got)
		}
	})
}
