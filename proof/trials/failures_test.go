package trials

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the zones of this test, on a machine without them too

	"github.com/refrain-dev/refrain/refrainhttp"
	"github.com/refrain-dev/refrain/sqlite"
)

// TestStoreThatRefuses: while the store cannot write, nothing is executed and
// nobody is told that it was; known results are still replayed; the retry after
// it has healed runs one time.
func TestStoreThatRefuses(t *testing.T) {
	each(t, func(t *testing.T, newEngine func(*testing.T, func() time.Time) engine) {
		at := &clock{now: noon}
		store, refuse := newEngine(t, at.Now).refusing(t)
		s := serve(t, store, at, guard, orders, create)
		known := s.post("known", order)
		release := refuse()
		for range 3 {
			a := s.post("k", order)
			wantProblem(t, a, 503, "store-unavailable")
			if a.header.Get("Retry-After") == "" || a.header.Get("Location") != "" {
				t.Errorf("header = %v", a.header)
			}
		}
		wantReplay(t, s.post("known", order), known)
		s.wantEffects(1)
		release()
		first := s.post("k", order)
		wantFresh(t, first, 201)
		wantReplay(t, s.post("k", order), first)
		s.wantEffects(2)
	})
}

// TestStoreThatIsGone: no lookup is possible, so nothing is executed, replayed
// or called unknown to the store.
func TestStoreThatIsGone(t *testing.T) {
	each(t, func(t *testing.T, newEngine func(*testing.T, func() time.Time) engine) {
		runs := 0
		s := open(t, newEngine, guard, orders, func(w http.ResponseWriter, r *http.Request, put func() error) error {
			runs++
			return create(w, r, put)
		})
		first := s.post("k", order)
		var err error
		switch store := s.store.(type) {
		case *memory:
			err = store.Close()
		case interface {
			Close(ctx context.Context) error
		}:
			err = store.Close(context.Background())
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"k", "new"} {
			wantProblem(t, s.post(key, order), 503, "store-unavailable")
			wantProblem(t, s.send("GET", "/v1/operations?operation=orders.create", key, ""), 503, "store-unavailable")
		}
		wantProblem(t, s.send("GET", "/v1/operations/"+first.header.Get("Idempotency-Ref"), "", ""), 503, "store-unavailable")
		wantProblem(t, s.send("GET", refrainhttp.WellKnownPath, "", ""), 503, "store-unavailable")
		if runs != 1 {
			t.Errorf("the handler ran %d times", runs)
		}
	})
}

// TestCommitThatCannotHappen: a deferred constraint that fails only at COMMIT
// takes the 201 back before anybody has seen it.
func TestCommitThatCannotHappen(t *testing.T) {
	t.Parallel()
	f := openFile(t, filepath.Join(t.TempDir(), "shop.db"), (&clock{now: noon}).Now, time.Second)
	err := f.Setup(t.Context(), `CREATE TABLE skus (id TEXT PRIMARY KEY)`,
		`CREATE TABLE lines (sku TEXT REFERENCES skus DEFERRABLE INITIALLY DEFERRED)`)
	if err != nil {
		t.Fatal(err)
	}
	h := refrainhttp.Handle(guard, f.DB, orders, func(w http.ResponseWriter, r *http.Request, tx sqlite.Tx) error {
		_, err1 := tx.ExecContext(r.Context(), `INSERT INTO orders DEFAULT VALUES`)
		_, err2 := tx.ExecContext(r.Context(), `INSERT INTO lines VALUES ('A-1')`)
		w.WriteHeader(http.StatusCreated)
		_, err3 := w.Write([]byte("created"))
		return errors.Join(err1, err2, err3)
	})
	s := &shop{t: t, store: f, log: new(safeBuffer)}
	s.mount(h)
	for range 2 {
		if a := s.post("k", order); a.status < 500 || a.problem() == "" || strings.Contains(a.body, "created") || a.replayed() {
			t.Errorf("answer = %v", a)
		}
		s.wantEffects(0)
	}
	if err := f.Setup(t.Context(), `INSERT INTO skus VALUES ('A-1')`); err != nil {
		t.Fatal(err)
	}
	first := s.post("k", order)
	wantFresh(t, first, 201)
	wantReplay(t, s.post("k", order), first)
	s.wantEffects(1)
}

// TestZonesOfInstances: two instances on one store whose clocks tell the same
// instants in other zones, over a night in which one of them changes its
// offset, agree on every deadline.
func TestZonesOfInstances(t *testing.T) {
	for _, tt := range []struct {
		name string
		at   time.Time
	}{
		{"spring forward", time.Date(2026, 3, 8, 6, 30, 0, 0, time.UTC)}, // New York, 01:30 EST
		{"fall back", time.Date(2026, 11, 1, 5, 30, 0, 0, time.UTC)},     // New York, 01:30 EDT
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			at := &clock{now: tt.at}
			path := filepath.Join(t.TempDir(), "shop.db")
			var instances []*shop
			for _, zone := range []string{"America/New_York", "Asia/Kolkata"} {
				location, err := time.LoadLocation(zone)
				if err != nil {
					t.Fatal(err)
				}
				local := func() time.Time { return at.Now().In(location) }
				instances = append(instances, serve(t, openFile(t, path, local, time.Second), at, guard, orders, create))
			}
			west, east := instances[0], instances[1]
			first := west.post("k", order)
			key := uuidBornAt(tt.at)
			timed := east.post(key, order)
			for _, s := range instances {
				a := s.post("k", order)
				wantReplay(t, a, first)
				for name, after := range map[string]time.Duration{"Idempotency-Expires": time.Hour, "Idempotency-Remembered": 24 * time.Hour} {
					if want := "@" + decimal(tt.at.Add(after).Unix()); a.header.Get(name) != want || first.header.Get(name) != want {
						t.Errorf("%s = %s and %s, want %s", name, first.header.Get(name), a.header.Get(name), want)
					}
				}
				status := s.send("GET", "/v1/operations?operation=orders.create", "k", "")
				if !strings.Contains(status.body, tt.at.Add(time.Hour).Format(time.RFC3339)) {
					t.Errorf("status = %s", status.body)
				}
				wantReplay(t, s.post(key, order), timed)
			}
			at.pass(time.Hour - time.Microsecond)
			for _, s := range instances {
				wantReplay(t, s.post("k", order), first)
			}
			at.pass(time.Microsecond)
			for _, s := range instances {
				wantProblem(t, s.post("k", order), 410, "result-gone")
			}
			at.pass(23 * time.Hour)
			for _, s := range instances {
				wantProblem(t, s.post(key, order), 412, "retry-too-late")
			}
			west.wantEffects(2)
		})
	}
}
