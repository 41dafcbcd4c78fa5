// Package engine gives the engine's rows of the benchmark: what a user's call
// costs through the real library.
package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/sqlite"

	"github.com/refrain-dev/refrain/proof/bench/measure"
	"github.com/refrain-dev/refrain/proof/bench/naked"
)

// Engine is one open database with an orders table like the prototype's.
type Engine struct {
	db       *sqlite.DB
	contract refrain.Contract
}

// Open makes the database at path and preloads count records.
func Open(ctx context.Context, path string, count int, options sqlite.Options) (*Engine, error) {
	db, err := sqlite.Open(path, options)
	if err != nil {
		return nil, err
	}
	e := &Engine{db: db, contract: refrain.Contract{
		Operation: "orders.create", Schema: "1", ReplayFor: 24 * time.Hour, RememberFor: 30 * 24 * time.Hour,
	}}
	if err := db.Migrate(ctx); err != nil {
		return nil, err
	}
	if err := db.Setup(ctx, naked.OrdersSQL); err != nil {
		return nil, err
	}
	var wg sync.WaitGroup
	errs := make(chan error, 64)
	for w := range 64 {
		wg.Go(func() {
			for i := w; i < count; i += 64 {
				if err := e.Execute(ctx, naked.Preloaded(i)); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	wg.Wait()
	close(errs)
	return e, <-errs
}

// Close closes the database.
func (e *Engine) Close() error { return e.db.Close(context.Background()) }

func (e *Engine) call(key string) refrain.Call {
	return refrain.Call{Contract: e.contract, Scope: refrain.Tenant("north"), Key: key, Input: naked.Body}
}

// Execute runs one call whose effect is the prototype's INSERT.
func (e *Engine) Execute(ctx context.Context, key string) error {
	_, err := e.db.Execute(ctx, e.call(key), effect)
	return err
}

func effect(ctx context.Context, tx sqlite.Tx) (refrain.Result, error) {
	if _, err := tx.ExecContext(ctx, naked.EffectSQL, naked.EffectArgs...); err != nil {
		return refrain.Result{}, err
	}
	return refrain.Result{Status: 201, Header: header, Body: naked.Body, Effect: "/orders/1"}, nil
}

var header = [][2]string{{"Content-Type", "application/json"}, {"Location", "/orders/1"}}

// errEffect: a replay ran the effect.
var errEffect = errors.New("the effect ran")

func refuse(context.Context, sqlite.Tx) (refrain.Result, error) { return refrain.Result{}, errEffect }

// Replay asks for a preloaded record.
func (e *Engine) Replay(ctx context.Context, preloaded int) error {
	_, err := e.db.Execute(ctx, e.call(naked.Preloaded(rand.IntN(preloaded))), refuse)
	return err
}

// Conflict sends another request under a preloaded key.
func (e *Engine) Conflict(ctx context.Context, preloaded int) error {
	call := e.call(naked.Preloaded(rand.IntN(preloaded)))
	call.Input = []byte("another request")
	_, err := e.db.Execute(ctx, call, refuse)
	if errors.Is(err, refrain.ErrKeyReused) {
		return nil
	}
	return fmt.Errorf("a conflict ended with %w", err)
}

// Cases are the engine's rows; prefix tells databases apart.
func (e *Engine) Cases(prefix, base string, preloaded int) []measure.Case {
	fresh := func(ctx context.Context, _, _ int) error { return e.Execute(ctx, naked.RandomKey()) }
	replay := func(ctx context.Context, _, _ int) error { return e.Replay(ctx, preloaded) }
	return []measure.Case{
		{Name: prefix + " execute", Base: base, Op: fresh},
		{Name: prefix + " execute, time-ordered keys", Base: base, Op: func(ctx context.Context, _, _ int) error {
			return e.Execute(ctx, naked.OrderedKey())
		}},
		{Name: prefix + " replay", Base: base, Op: replay},
		{Name: prefix + " conflict", Base: base, Op: func(ctx context.Context, _, _ int) error { return e.Conflict(ctx, preloaded) }},
		{Name: prefix + " replay beside 8 writers", Base: prefix + " replay", Op: replay, Beside: fresh, BesideCallers: 8},
	}
}
