// Package shop is the demo's API on the real library, in one database of any
// engine, for two tenants: orders.create, whose effect commits with its record,
// quotes.create, whose handler commits for itself, and payments.create, whose
// effect is a charge at a provider.
package shop

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/cmd/refrain/internal/engine"
	"github.com/refrain-dev/refrain/refrainhttp"
)

// statusPath is where actions can be asked about.
const statusPath = "/v1/operations"

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
	db        engine.Database
	decisions *Decisions
	delay     time.Duration // of an order
	database  string
	pause     func(context.Context, time.Duration) error // inside an action
	till      *till
	mux       *http.ServeMux

	mu   sync.Mutex
	last *trial
}

// New registers the contracts, makes the shop's tables and returns the shop. The
// database is migrated; decisions is what it and the shop are observed by.
func New(ctx context.Context, db engine.Database, config Config, decisions *Decisions) (*Shop, error) {
	// Who runs a demo with a shorter memory says so by its flag.
	if err := db.RegisterShorter(ctx, config.Contracts()...); err != nil {
		return nil, err
	}
	if err := db.Setup(ctx, db.SQL(orderSchema), db.SQL(quoteSchema), db.SQL(paymentSchema)); err != nil {
		return nil, err
	}
	s := &Shop{db: db, decisions: decisions, delay: config.Delay, database: config.Database, pause: pause, mux: http.NewServeMux()}
	var err error
	if s.till, err = newTill(db.Operations(), s.settle); err != nil {
		return nil, err
	}
	s.routes(config)
	return s, nil
}

// Run serves the provider of the payments and carries them out until ctx ends.
// Without it a payment is accepted and goes no further. It runs once.
func (s *Shop) Run(ctx context.Context) error { return s.till.run(ctx) }

func (s *Shop) routes(config Config) {
	guard := Guard(s.decisions)
	s.mux.Handle("POST /v1/orders", refrainhttp.Handle(guard, s.db, config.Contract(), s.create))
	s.mux.HandleFunc("GET /v1/orders", s.list)
	s.mux.HandleFunc("GET /v1/orders/{id}", s.show)
	s.mux.Handle("POST /v1/quotes", s.checked(refrainhttp.Wrap(guard, s.db, config.quotes(), http.HandlerFunc(s.quote))))
	s.mux.HandleFunc("GET /v1/quotes", s.listQuotes)
	s.mux.HandleFunc("GET /v1/quotes/{id}", s.showQuote)
	awaiting := guard
	awaiting.Await = s.till.await
	s.mux.Handle("POST /v1/payments", refrainhttp.Handle(awaiting, s.db, config.payments(), s.pay))
	s.mux.HandleFunc("GET /v1/payments", s.listPayments)
	s.mux.HandleFunc("GET /v1/payments/{id}", s.showPayment)
	status := s.action(refrainhttp.Status(guard, s.db, config.Contracts()...))
	s.mux.Handle(statusPath, status)
	s.mux.Handle(statusPath+"/", status)
	s.mux.Handle(refrainhttp.WellKnownPath, refrainhttp.WellKnown(guard, s.db, config.Contracts()...))
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
