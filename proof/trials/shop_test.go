package trials

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/memstore"
	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/refrainhttp"
	"github.com/refrain-dev/refrain/sqlite"
)

// handler is a guarded handler of any engine: put makes one business row.
type handler func(w http.ResponseWriter, r *http.Request, put func() error) error

// engine is what a trial needs of one, whatever its transaction's type.
type engine interface {
	record.Store
	guarded(g refrainhttp.Guard, c refrain.Contract, h handler) http.Handler
	rows(t *testing.T) int
	// again is another instance on the same store, as another process has one.
	again(t *testing.T) engine
	// refuse makes the store refuse until release is called.
	refuse(t *testing.T) (release func())
}

// clock is the store's time; the trial moves it.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

var noon = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

type memory struct {
	*memstore.DB
	made    atomic.Int64
	refuses *atomic.Bool
}

func newMemory(t *testing.T, now func() time.Time) engine {
	refuses := new(atomic.Bool)
	return &memory{refuses: refuses, DB: memstore.New(memstore.Options{Now: now, Commit: func() error {
		if refuses.Load() {
			return io.ErrShortWrite
		}
		return nil
	}})}
}

func (m *memory) guarded(g refrainhttp.Guard, c refrain.Contract, h handler) http.Handler {
	return refrainhttp.Handle(g, m.DB, c, func(w http.ResponseWriter, r *http.Request, tx memstore.Tx) error {
		return h(w, r, func() error { return tx.Put("orders", fmt.Sprint(m.made.Add(1)), nil) })
	})
}

func (m *memory) rows(*testing.T) int {
	n := 0
	for range m.Scan("orders") {
		n++
	}
	return n
}

func (m *memory) again(*testing.T) engine { return m }

func (m *memory) refuse(*testing.T) func() {
	m.refuses.Store(true)
	return func() { m.refuses.Store(false) }
}

type file struct {
	*sqlite.DB
	path string
	now  func() time.Time
}

func newFile(t *testing.T, now func() time.Time) engine {
	return openFile(t, filepath.Join(t.TempDir(), "shop.db"), now, 5*time.Second)
}

func openFile(t *testing.T, path string, now func() time.Time, busy time.Duration) *file {
	t.Helper()
	db, err := sqlite.Open(path, sqlite.Options{Now: now, Normal: true, Busy: busy})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := db.Setup(t.Context(), `CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY)`); err != nil {
		t.Fatal(err)
	}
	return &file{db, path, now}
}

func (f *file) guarded(g refrainhttp.Guard, c refrain.Contract, h handler) http.Handler {
	return refrainhttp.Handle(g, f.DB, c, func(w http.ResponseWriter, r *http.Request, tx sqlite.Tx) error {
		return h(w, r, func() error {
			_, err := tx.ExecContext(r.Context(), `INSERT INTO orders DEFAULT VALUES`)
			return err
		})
	})
}

func (f *file) rows(t *testing.T) int {
	t.Helper()
	var n int
	if err := f.Reader().QueryRow(`SELECT count(*) FROM orders`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func (f *file) again(t *testing.T) engine { return openFile(t, f.path, f.now, 5*time.Second) }

// refuse lets somebody else hold the write lock.
func (f *file) refuse(t *testing.T) func() {
	t.Helper()
	other := openFile(t, f.path, f.now, 5*time.Second)
	holding, release, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- other.Update(context.Background(), func(context.Context, sqlite.Tx) error {
			close(holding)
			<-release
			return nil
		})
	}()
	<-holding
	return func() {
		close(release)
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// both runs a trial over every engine.
func both(t *testing.T, trial func(t *testing.T, open func(*testing.T, func() time.Time) engine)) {
	t.Parallel()
	t.Run("memstore", func(t *testing.T) { t.Parallel(); trial(t, newMemory) })
	t.Run("sqlite", func(t *testing.T) { t.Parallel(); trial(t, newFile) })
}

// orders is the contract of most trials.
var orders = refrain.Contract{
	Operation: "orders.create", Schema: "1", ReplayFor: time.Hour, RememberFor: 24 * time.Hour, Wait: 20 * time.Second,
}

// guard takes the tenant from the Authorization field; without one it is north.
var guard = refrainhttp.Guard{
	StatusPath: "/v1/operations",
	Principal: func(r *http.Request) (refrain.Scope, error) {
		switch who := r.Header.Get("Authorization"); who {
		case "":
			return refrain.Tenant("north"), nil
		case "revoked":
			return refrain.Scope{}, refrain.ErrUnauthenticated
		case "guest":
			return refrain.Scope{}, refrain.ErrForbidden
		default:
			return refrain.Tenant(who), nil
		}
	},
}

// shop is one server over one engine.
type shop struct {
	t     *testing.T
	store engine
	clock *clock
	url   string
	addr  string
	http  *http.Client
	log   *safeBuffer
}

// open starts a server with h under POST /orders and the patterns given.
func open(t *testing.T, newEngine func(*testing.T, func() time.Time) engine, g refrainhttp.Guard, c refrain.Contract, h handler, patterns ...string) *shop {
	t.Helper()
	at := &clock{now: noon}
	return serve(t, newEngine(t, at.Now), at, g, c, h, patterns...)
}

// serve starts a server over an engine that exists.
func serve(t *testing.T, store engine, at *clock, g refrainhttp.Guard, c refrain.Contract, h handler, patterns ...string) *shop {
	t.Helper()
	guarded := store.guarded(g, c, h)
	mux := http.NewServeMux()
	for _, pattern := range append(patterns, "/orders") {
		mux.Handle(pattern, guarded)
	}
	status := refrainhttp.Status(g, store, c)
	mux.Handle("/v1/operations", status)
	mux.Handle("/v1/operations/", status)
	mux.Handle(refrainhttp.WellKnownPath, refrainhttp.WellKnown(g, store, c))
	s := &shop{t: t, store: store, clock: at, log: new(safeBuffer)}
	s.mount(mux)
	return s
}

// mount puts h on a server of the shop's own, which ends with the trial.
func (s *shop) mount(h http.Handler) {
	srv := httptest.NewUnstartedServer(h)
	srv.Config.ErrorLog = log.New(s.log, "", 0)
	srv.Start()
	s.t.Cleanup(srv.Close)
	s.url, s.addr = srv.URL, srv.Listener.Addr().String()
	transport := &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 100}
	s.t.Cleanup(transport.CloseIdleConnections)
	s.http = &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// create is the usual handler: one row, 201, a body that tells runs apart.
func create(w http.ResponseWriter, r *http.Request, put func() error) error {
	if err := put(); err != nil {
		return err
	}
	call, _ := refrain.CallFrom(r.Context())
	w.Header().Set("Location", "/orders/"+call.Ref)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	_, err := fmt.Fprintf(w, `{"order":%q}`, call.Ref)
	return err
}

type safeBuffer struct {
	mu sync.Mutex
	b  []byte
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.b = append(s.b, p...)
	return len(p), nil
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.b)
}
