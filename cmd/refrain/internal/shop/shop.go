// Package shop is the demo's order API on the real library: one guarded
// operation, orders.create, in one SQLite file, for two tenants.
package shop

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/refrainhttp"
	"github.com/refrain-dev/refrain/sqlite"
)

// Config is what the demo's flags decide. A negative duration means none, zero
// the contract's default.
type Config struct {
	ReplayFor, RememberFor time.Duration
	Wait, Skew             time.Duration
	// Delay is how long an effect takes after its insert.
	Delay time.Duration
}

// operation is the shop's one guarded action.
const operation = "orders.create"

// statusPath is where actions can be asked about.
const statusPath = "/v1/operations"

// Contract is the policy of orders.create.
func (c Config) Contract() refrain.Contract {
	return refrain.Contract{
		Operation:    operation,
		Schema:       "1",
		ReplayFor:    c.ReplayFor,
		RememberFor:  c.RememberFor,
		Skew:         c.Skew,
		Wait:         c.Wait,
		Methods:      []string{http.MethodPost},
		MaxExecution: refrain.DefaultMaxExecution + max(c.Delay, 0),
		Ungrouped:    c.Delay > 0, // neighbours must not wait for a slow effect
	}
}

// Guard is what the shop's guarded routes share.
func Guard(observer refrain.Observer) refrainhttp.Guard {
	return refrainhttp.Guard{
		Principal:  principal,
		Challenge:  challenge,
		StatusPath: statusPath,
		Observer:   observer,
	}
}

// Shop is the API and its page.
type Shop struct {
	db        *sqlite.DB
	decisions *Decisions
	pause     func(context.Context) error // inside the effect, after its insert
	mux       *http.ServeMux

	mu   sync.Mutex
	last *trial
}

// New registers the contract, makes the shop's table and returns the shop. The
// database is migrated; decisions is what it and the shop are observed by.
func New(ctx context.Context, db *sqlite.DB, config Config, decisions *Decisions) (*Shop, error) {
	contract := config.Contract()
	if err := db.Register(ctx, contract); err != nil {
		return nil, err
	}
	if err := db.Setup(ctx, schema); err != nil {
		return nil, err
	}
	s := &Shop{db: db, decisions: decisions, mux: http.NewServeMux()}
	s.pause = func(ctx context.Context) error { return pause(ctx, config.Delay) }
	s.routes(contract)
	return s, nil
}

func (s *Shop) routes(contract refrain.Contract) {
	guard := Guard(s.decisions)
	s.mux.Handle("POST /v1/orders", refrainhttp.Handle(guard, s.db, contract, s.create))
	s.mux.HandleFunc("GET /v1/orders", s.list)
	s.mux.HandleFunc("GET /v1/orders/{id}", s.show)
	status := refrainhttp.Status(guard, s.db, contract)
	s.mux.Handle(statusPath, status)
	s.mux.Handle(statusPath+"/", status)
	s.mux.Handle(refrainhttp.WellKnownPath, refrainhttp.WellKnown(guard, s.db, contract))
	s.mux.HandleFunc("GET /healthz", s.health)
	s.pageRoutes()
}

func (s *Shop) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// health is 200 while the database can be asked and has its tables.
func (s *Shop) health(w http.ResponseWriter, r *http.Request) {
	status, err := s.db.MigrationStatus(r.Context())
	if err != nil || status.Version != status.Newest {
		http.Error(w, "the database is not ready", http.StatusServiceUnavailable)
		return
	}
	writeJSON(w, http.StatusOK, map[string]string{"status": "ok"})
}

// pause takes d, or less if ctx ends first. It then returns why.
func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
