package trials

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/proof/engines"
	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/refrainhttp"
	"github.com/refrain-dev/refrain/upkeep"
)

// handler is a guarded handler of any engine: put makes one business row.
type handler func(w http.ResponseWriter, r *http.Request, put func() error) error

// engine is what a trial needs of one, whatever its transaction's type.
type engine interface {
	record.Store
	upkeep.Retention
	guarded(g refrainhttp.Guard, c refrain.Contract, h handler) http.Handler
	rows(t *testing.T) int
	// again is another instance on the same store, as another process has one.
	again(t *testing.T) engine
	// refusing is an instance that does not wait for long, and what makes the
	// store refuse to write until release is called.
	refusing(t *testing.T) (impatient engine, refuse func() (release func()))
}

// forget reaps what is due and returns how many records that were.
func forget(ctx context.Context, store upkeep.Retention) (int, error) {
	done, err := (&upkeep.Reaper{Store: store, Rest: -1}).Once(ctx)
	return done.Forgotten, err
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

// each runs a trial over every engine. On a server one shop is open at a time.
func each(t *testing.T, trial func(t *testing.T, open func(*testing.T, func() time.Time) engine)) {
	t.Parallel()
	t.Run("memstore", func(t *testing.T) { t.Parallel(); trial(t, newMemory) })
	t.Run("sqlite", func(t *testing.T) { t.Parallel(); trial(t, newFile) })
	eachServer(t, func(t *testing.T, shop *engines.Shop) {
		trial(t, func(t *testing.T, now func() time.Time) engine {
			return connect(t, emptied(t, shop), session{now: now, busy: time.Minute}) // some answers have 70 MiB
		})
	})
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
