package refrainhttp_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/memstore"
	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/refrainhttp"
)

// till is an endpoint whose handler commits for itself: it counts its effects
// where no store sees them.
type till struct {
	t     *testing.T
	db    *memstore.DB
	store *faulty
	http  http.Handler
	runs  atomic.Int32

	mu     sync.Mutex
	events []refrain.Event
}

// wrap opens a till on a store of its own.
func wrap(t *testing.T, g refrainhttp.Guard, c refrain.Contract, h http.HandlerFunc) *till {
	t.Helper()
	return wrapOver(t, memstore.New(memstore.Options{}), g, c, h)
}

// wrapOver opens one more process over a store that exists.
func wrapOver(t *testing.T, db *memstore.DB, g refrainhttp.Guard, c refrain.Contract, h http.HandlerFunc) *till {
	t.Helper()
	s := &till{t: t, db: db, store: &faulty{Store: db}}
	g.Observer = s
	s.http = refrainhttp.Wrap(g, s.store, c, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.runs.Add(1)
		h(w, r)
	}))
	return s
}

func (s *till) Observe(_ context.Context, e refrain.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, e)
}

func (s *till) saw(row string, p record.Problem) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.events {
		if e.Row == row && e.Problem == p {
			return true
		}
	}
	return false
}

func (s *till) do(r *http.Request) *http.Response {
	w := httptest.NewRecorder()
	s.http.ServeHTTP(w, r)
	return w.Result()
}

func (s *till) post(fields ...string) *http.Response {
	return s.do(request(secretKey, smallOrder, fields...))
}

func (s *till) wantRuns(n int32) {
	s.t.Helper()
	if got := s.runs.Load(); got != n {
		s.t.Errorf("the handler ran %d times, want %d", got, n)
	}
}

var secretID = record.Identity{Scope: north.String(), Operation: orders.Operation, Key: secretKey}

// record is what the store has under the secret key, nil for nothing.
func (s *till) record() *record.Record {
	s.t.Helper()
	seen, _, err := s.db.Load(context.Background(), secretID)
	if err != nil {
		s.t.Fatal(err)
	}
	return seen.Record
}

// wantState checks the stored state; 0 is none.
func (s *till) wantState(want record.State) {
	s.t.Helper()
	rec := s.record()
	if want == 0 && rec != nil || want != 0 && (rec == nil || rec.State != want) {
		s.t.Errorf("record = %+v, want %v", rec, want)
	}
}

// faulty is a store that can be gone for single calls.
type faulty struct {
	record.Store
	mu     sync.Mutex
	change func(next func() error) error // in place of Change; nil is none
	load   func() error
}

var errGone = errors.New("the store is gone")

func gone(func() error) error { return errGone }

func (f *faulty) set(change func(func() error) error, load func() error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.change, f.load = change, load
}

func (f *faulty) hooks() (func(func() error) error, func() error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.change, f.load
}

func (f *faulty) Change(ctx context.Context, id record.Identity, decide func(record.Seen, time.Time) (record.Edit, error)) error {
	next := func() error { return f.Store.Change(ctx, id, decide) }
	if change, _ := f.hooks(); change != nil {
		return change(next)
	}
	return next()
}

func (f *faulty) Load(ctx context.Context, id record.Identity) (record.Seen, time.Time, error) {
	if _, load := f.hooks(); load != nil {
		if err := load(); err != nil {
			return record.Seen{}, time.Time{}, err
		}
	}
	return f.Store.Load(ctx, id)
}

// charge is the usual handler.
func charge(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Location", "/charges/17")
	w.WriteHeader(http.StatusCreated)
	_, _ = io.WriteString(w, "charged")
}

// answering answers with a status and a short body.
func answering(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		if status != 204 && status != 304 {
			_, _ = io.WriteString(w, "answer")
		}
	}
}

// hasty is the orders contract without waiting.
func hasty() refrain.Contract {
	c := orders
	c.Wait = -1
	return c
}
