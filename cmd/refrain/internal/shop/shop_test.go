package shop

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/refrain-dev/refrain/cmd/refrain/internal/engine"
)

const (
	north = "demo-north"
	south = "demo-south"
)

var usual = Config{ReplayFor: time.Hour, RememberFor: 24 * time.Hour, Wait: -1}

// openShop opens a shop on the database, as one process does.
func openShop(t *testing.T, at engine.Place, config Config) *Shop {
	t.Helper()
	ctx := context.Background()
	decisions := new(Decisions)
	db, err := at.Open(ctx, engine.Options{Observer: decisions})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	if err := db.Migrate(ctx); err != nil {
		t.Fatal(err)
	}
	s, err := New(ctx, db, config, decisions)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func newShop(t *testing.T) *Shop { return openShop(t, newFile(t), usual) }

func newFile(t *testing.T) engine.Place { return engine.File(filepath.Join(t.TempDir(), "shop.db")) }

// request is one request of a client; zero fields are left out.
type request struct {
	method, target, token, key, media, body string
}

func (s *Shop) answers(t *testing.T, q request) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(q.method, q.target, strings.NewReader(q.body))
	for name, value := range map[string]string{"Authorization": q.token, "Idempotency-Key": q.key, "Content-Type": q.media} {
		if value != "" {
			r.Header.Set(name, value)
		}
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

func (s *Shop) order(t *testing.T, token, key, body string) *httptest.ResponseRecorder {
	t.Helper()
	return s.answers(t, request{"POST", "/v1/orders", "Bearer " + token, key, "application/json", body})
}

func (s *Shop) get(t *testing.T, token, target string) *httptest.ResponseRecorder {
	t.Helper()
	return s.answers(t, request{method: "GET", target: target, token: "Bearer " + token})
}

// count is how many orders the tenant has.
func (s *Shop) count(t *testing.T, token string) int {
	t.Helper()
	return decode[struct{ Count int }](t, s.get(t, token, "/v1/orders"), http.StatusOK).Count
}

func decode[T any](t *testing.T, w *httptest.ResponseRecorder, status int) (doc T) {
	t.Helper()
	wantStatus(t, w, status)
	if err := json.Unmarshal(w.Body.Bytes(), &doc); err != nil {
		t.Fatalf("%v in %q", err, w.Body)
	}
	return doc
}

func wantStatus(t *testing.T, w *httptest.ResponseRecorder, status int) {
	t.Helper()
	if w.Code != status {
		t.Fatalf("answered %d %s, want %d", w.Code, w.Body, status)
	}
}

// wantProblem demands a problem document of this name.
func wantProblem(t *testing.T, w *httptest.ResponseRecorder, status int, name string) problemDoc {
	t.Helper()
	doc := decode[problemDoc](t, w, status)
	if media := w.Header().Get("Content-Type"); media != "application/problem+json" {
		t.Errorf("media type %q", media)
	}
	if !strings.HasSuffix(doc.Type, "#"+name) || doc.Status != status || doc.Title == "" {
		t.Errorf("problem %+v, want %s with status %d", doc, name, status)
	}
	return doc
}

func TestHealth(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	wantStatus(t, s.answers(t, request{method: "GET", target: "/healthz"}), http.StatusOK)
	if err := s.db.Setup(context.Background(), `INSERT INTO refrain_schema VALUES (99, '', 0)`); err != nil {
		t.Fatal(err)
	}
	wantStatus(t, s.answers(t, request{method: "GET", target: "/healthz"}), http.StatusServiceUnavailable)
}

func TestWellKnownIsPublic(t *testing.T) {
	t.Parallel()
	doc := decode[struct {
		Contracts []struct {
			Operation   string `json:"operation"`
			RememberFor string `json:"remember_for"`
			Wait        string `json:"wait"`
		} `json:"contracts"`
	}](t, newShop(t).answers(t, request{method: "GET", target: "/.well-known/idempotency"}), http.StatusOK)
	if len(doc.Contracts) != 3 || doc.Contracts[2].Operation != "payments.create" || doc.Contracts[1].Operation != "quotes.create" || doc.Contracts[0].Operation != "orders.create" || doc.Contracts[0].RememberFor != "P1D" || doc.Contracts[0].Wait != "PT0S" {
		t.Errorf("contracts %+v", doc.Contracts)
	}
}

func TestTwoProcessesOnOneFile(t *testing.T) {
	t.Parallel()
	at := newFile(t)
	one, other := openShop(t, at, usual), openShop(t, at, usual)
	key := FreshKey()
	first := one.order(t, north, key, `{"sku":"A","quantity":1}`)
	again := other.order(t, north, key, `{"sku":"A","quantity":1}`)
	wantStatus(t, first, http.StatusCreated)
	wantStatus(t, again, http.StatusCreated)
	if again.Body.String() != first.Body.String() || again.Header().Get("Idempotent-Replayed") != "true" {
		t.Errorf("the other process answered %s, replayed %q", again.Body, again.Header().Get("Idempotent-Replayed"))
	}
	if n := other.count(t, north); n != 1 {
		t.Errorf("%d orders, want 1", n)
	}
}

func TestPauseEndsWithItsContext(t *testing.T) {
	t.Parallel()
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(gone)
	if err := pause(ctx, time.Hour); !errors.Is(err, gone) {
		t.Errorf("pause returned %v, want %v", err, gone)
	}
	if err := pause(ctx, 0); err != nil {
		t.Errorf("no pause returned %v", err)
	}
}

// TestSlowEffectsHaveTime: the delay comes on top of the bound of an effect.
func TestSlowEffectsHaveTime(t *testing.T) {
	t.Parallel()
	slow := usual
	slow.Delay = 40 * time.Second
	if c := slow.Contract(); c.MaxExecution <= slow.Delay || !c.Ungrouped {
		t.Errorf("MaxExecution %v, ungrouped %t for a delay of %v", c.MaxExecution, c.Ungrouped, slow.Delay)
	}
}
