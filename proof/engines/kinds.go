//go:build linux

package engines

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/refrainhttp"
	"github.com/refrain-dev/refrain/upkeep"
)

// Kind is one engine, opened the way applications do.
type Kind struct {
	Name  string
	MySQL bool
	// Alone: each call has a connection to itself while its effect runs.
	Alone bool
	open  func(s *Shop, dsn string, pool int, o Options) (*Engine, error)
}

// The kinds.
var (
	Pgx   = Kind{Name: "postgres DB", Alone: true, open: openPgx}
	SQL   = Kind{Name: "postgres SQL", Alone: true, open: openSQL}
	Group = Kind{Name: "postgres Group", open: openGroup}
	MySQL = Kind{Name: "mysql DB", MySQL: true, Alone: true, open: openMySQL}
)

// Kinds are all of them.
var Kinds = []Kind{Pgx, SQL, Group, MySQL}

// Options of an engine that all kinds have.
type Options struct {
	Observer refrain.Observer
	Now      func() time.Time
	Busy     time.Duration // how long a call waits for the server; 0 is the engine's own
	// Plain uses PostgreSQL's unnamed statements, as a pool in transaction mode
	// needs it.
	Plain bool
	// Writable looks for the one of several PostgreSQL servers that can write.
	Writable bool
}

// Engine is one open engine on a shop.
type Engine struct {
	upkeep.Keeper
	// Do places an order.
	Do func(ctx context.Context, call refrain.Call, o Order) (refrain.Outcome, error)
	// Handler places an order for each request.
	Handler func(guard refrainhttp.Guard, c refrain.Contract, o Order) http.Handler
	// Busy is how many connections the pool has given out, or -1 where it cannot
	// be told.
	Busy func() int
}

// Open opens the engine on the shop by way of addr, "" for the server's own
// address, with at most so many connections. It is closed with the test.
func (s *Shop) Open(t testing.TB, addr string, pool int, options ...Options) *Engine {
	t.Helper()
	e, err := s.Connect(addr, pool, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(context.Background()); err != nil {
			t.Errorf("close %s: %v", s.Name, err)
		}
	})
	return e
}

// Connect is Open outside a test: the caller closes it.
func (s *Shop) Connect(addr string, pool int, options ...Options) (*Engine, error) {
	var o Options
	if len(options) > 0 {
		o = options[0]
	}
	return s.open(s, s.DSN(addr), pool, o)
}

// engine makes an Engine of an executor and of what its transactions run a
// statement with.
func engine[T any](s *Shop, keeper upkeep.Keeper, busy func() int, executor refrain.Executor[T], run func(ctx context.Context, tx T, query string, args ...any) error) *Engine {
	in := func(ctx context.Context, tx T) exec {
		return func(query string, args ...any) error { return run(ctx, tx, query, args...) }
	}
	return &Engine{
		Keeper: keeper,
		Busy:   busy,
		Do: func(ctx context.Context, call refrain.Call, o Order) (refrain.Outcome, error) {
			return executor.Execute(ctx, call, func(ctx context.Context, tx T) (refrain.Result, error) {
				ref, err := s.place(ctx, call.Key, o, in(ctx, tx))
				return refrain.Result{Status: http.StatusCreated, Body: []byte(o.Token), Effect: "/orders/" + ref}, err
			})
		},
		Handler: func(guard refrainhttp.Guard, c refrain.Contract, o Order) http.Handler {
			return refrainhttp.Handle(guard, executor, c, func(w http.ResponseWriter, r *http.Request, tx T) error {
				ref, err := s.place(r.Context(), r.Header.Get("Idempotency-Key"), o, in(r.Context(), tx))
				if err == nil {
					w.Header().Set("Location", "/orders/"+ref)
					w.WriteHeader(http.StatusCreated)
					_, err = w.Write([]byte(o.Token))
				}
				return err
			})
		},
	}
}

// closing closes the application's own handle behind the engine on it.
type closing struct {
	upkeep.Keeper
	handle func() error
}

func (c closing) Close(ctx context.Context) error {
	return errors.Join(c.Keeper.Close(ctx), c.handle())
}
