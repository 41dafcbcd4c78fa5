package refrainhttp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/memstore"
	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/refrainhttp"
)

var north = refrain.Tenant("north")

// guard takes the tenant from the Authorization field; without one it is north.
var guard = refrainhttp.Guard{
	StatusPath: "/v1/operations",
	Principal: func(r *http.Request) (refrain.Scope, error) {
		switch who := r.Header.Get("Authorization"); who {
		case "":
			return north, nil
		case "nobody":
			return refrain.Scope{}, refrain.ErrUnauthenticated
		case "guest":
			return refrain.Scope{}, fmt.Errorf("guests look: %w", refrain.ErrForbidden)
		case "outage":
			return refrain.Scope{}, io.ErrUnexpectedEOF
		case "empty":
			return refrain.Scope{}, nil
		default:
			return refrain.Tenant(who), nil
		}
	},
}

var orders = refrain.Contract{
	Operation: "orders.create", Schema: "1", ReplayFor: 24 * time.Hour, RememberFor: 30 * 24 * time.Hour,
}

type handler = func(w http.ResponseWriter, r *http.Request, tx memstore.Tx) error

// shop is a guarded endpoint on a store of its own whose clock the test moves.
type shop struct {
	t    *testing.T
	db   *memstore.DB
	http http.Handler

	mu     sync.Mutex
	now    time.Time
	commit func() error // called before each COMMIT; may be nil
	events []refrain.Event
}

var noon = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

// open mounts h under POST /orders and whatever patterns the test names.
func open(t *testing.T, c refrain.Contract, h handler, patterns ...string) *shop {
	t.Helper()
	s := &shop{t: t, now: noon}
	s.db = memstore.New(memstore.Options{Now: s.clock, Commit: func() error {
		if s.commit == nil {
			return nil
		}
		return s.commit()
	}})
	g := guard
	g.Observer, g.Now = s, s.clock
	guarded := refrainhttp.Handle(g, s.db, c, h)
	mux := http.NewServeMux()
	for _, pattern := range append(patterns, "/orders") {
		mux.Handle(pattern, guarded)
	}
	mux.Handle("/v1/operations/", refrainhttp.Status(g, s.db, c))
	mux.Handle("/v1/operations", refrainhttp.Status(g, s.db, c))
	s.http = mux
	return s
}

func (s *shop) clock() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

func (s *shop) pass(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = s.now.Add(d)
}

func (s *shop) Observe(_ context.Context, e refrain.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, e)
}

func (s *shop) saw(row string, p record.Problem) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.events {
		if e.Row == row && e.Problem == p {
			return true
		}
	}
	return false
}

// place is the usual effect: one row per run, 201.
func place(w http.ResponseWriter, r *http.Request, tx memstore.Tx) error {
	if err := put(r, tx); err != nil {
		return err
	}
	running, _ := refrain.CallFrom(r.Context())
	w.Header().Set("Location", "/orders/17")
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	_, err := fmt.Fprintf(w, `{"order":17,"ref":%q}`, running.Ref)
	return err
}

// put is the business write: effects are counted by it.
func put(r *http.Request, tx memstore.Tx) error {
	running, ok := refrain.CallFrom(r.Context())
	if !ok {
		return fmt.Errorf("no call on the context")
	}
	return tx.Put("orders", running.Ref, []byte("1"))
}

func (s *shop) effects() int {
	n := 0
	for range s.db.Scan("orders") {
		n++
	}
	return n
}

func (s *shop) wantEffects(n int) {
	s.t.Helper()
	if got := s.effects(); got != n {
		s.t.Errorf("effects = %d, want %d", got, n)
	}
}

// request is a POST of a small JSON body; fields are names and values in turn.
func request(key, body string, fields ...string) *http.Request {
	r := httptest.NewRequest("POST", "/orders", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	for i := 0; i < len(fields); i += 2 {
		r.Header.Add(fields[i], fields[i+1])
	}
	return r
}

func (s *shop) do(r *http.Request) *http.Response {
	w := httptest.NewRecorder()
	s.http.ServeHTTP(w, r)
	return w.Result()
}

func (s *shop) post(key string, fields ...string) *http.Response {
	return s.do(request(key, smallOrder, fields...))
}

func text(t *testing.T, res *http.Response) string {
	t.Helper()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// problem is what a client reads of a problem document.
type problem struct {
	Type, Title, Detail, Instance string
	Status                        int
	Retryable                     *bool
	Ref, State, Effect            string
	KeyTime                       string `json:"key_time"`
	StatusURL                     string `json:"status_url"`
}

// wantProblem checks everything all problems have in common.
func wantProblem(t *testing.T, res *http.Response, status int, p string) problem {
	t.Helper()
	body := text(t, res)
	if res.StatusCode != status || res.Header.Get("Idempotency-Status") != p {
		t.Fatalf("answer = %d %q, want %d %q\n%s", res.StatusCode, res.Header.Get("Idempotency-Status"), status, p, body)
	}
	var doc problem
	if err := json.Unmarshal([]byte(body), &doc); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	wantType := "https://refrain.dev/problems#" + p
	described := false
	for _, link := range res.Header["Link"] {
		described = described || link == "<"+wantType+`>; rel="describedby"`
	}
	retryable := doc.Retryable != nil && *doc.Retryable
	switch {
	case res.Header.Get("Content-Type") != "application/problem+json":
		t.Errorf("Content-Type = %q", res.Header.Get("Content-Type"))
	case doc.Type != wantType || doc.Title == "" || doc.Detail == "" || doc.Status != status || doc.Retryable == nil:
		t.Errorf("document = %s", body)
	case !strings.HasPrefix(doc.Instance, "urn:uuid:") || len(doc.Instance) != 45:
		t.Errorf("instance = %q", doc.Instance)
	case !described || res.Header.Get("Content-Language") != "en" || res.Header.Get("Cache-Control") != "no-store":
		t.Errorf("header = %v", res.Header)
	case retryable != (res.Header.Get("Retry-After") != ""):
		t.Errorf("retryable = %t, Retry-After = %q", retryable, res.Header.Get("Retry-After"))
	case strings.Contains(body, "secret"):
		t.Errorf("the document shows key or payload: %s", body)
	}
	return doc
}

// wantReplay checks a replay against the first answer.
func wantReplay(t *testing.T, res *http.Response, status int, body string) {
	t.Helper()
	got := text(t, res)
	if res.StatusCode != status || got != body || res.Header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("replay = %d %q (replayed %q), want %d %q", res.StatusCode, got, res.Header.Get("Idempotent-Replayed"), status, body)
	}
	if s := res.Header.Get("Idempotency-Status"); s != "" {
		t.Errorf("a replay has Idempotency-Status %q", s)
	}
}

// keyBornAt is a UUIDv7 of that time.
func keyBornAt(at time.Time, n int) string {
	ms := at.UnixMilli()
	return fmt.Sprintf("%08x-%04x-7000-8000-%012x", ms>>16, ms&0xffff, n)
}
