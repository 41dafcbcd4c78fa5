// Package web gives the benchmark's rows over net/http handlers, without a
// network: a bare handler, the same handler in an engine's transaction, and the
// same behind the guard.
package web

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/fingerprint"
	"github.com/refrain-dev/refrain/memstore"
	"github.com/refrain-dev/refrain/refrainhttp"

	"github.com/refrain-dev/refrain/proof/bench/measure"
	"github.com/refrain-dev/refrain/proof/bench/naked"
)

const order = `{"sku":"A-1","amount":2,"note":"ring twice"}`

var contract = refrain.Contract{
	Operation: "orders.create", Schema: "1", ReplayFor: 24 * time.Hour, RememberFor: 30 * 24 * time.Hour,
}

var north = refrain.Tenant("north")

func create(w http.ResponseWriter, r *http.Request) error {
	var order struct {
		SKU    string `json:"sku"`
		Amount int    `json:"amount"`
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, &order); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	_, err = io.WriteString(w, `{"id":17}`)
	return err
}

// errStatus: a handler did not answer 201.
var errStatus = errors.New("not 201")

// post sends one order, in process. Its own cost is the same in every case.
func post(h http.Handler) measure.Op {
	return func(ctx context.Context, _, _ int) error {
		r := httptest.NewRequestWithContext(ctx, "POST", "/orders", strings.NewReader(order))
		r.Pattern = "POST /orders"
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Idempotency-Key", naked.RandomKey())
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != http.StatusCreated {
			return errStatus
		}
		return nil
	}
}

var bare = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _ = create(w, r) })

var guard = refrainhttp.Guard{Principal: func(*http.Request) (refrain.Scope, error) { return north, nil }}

// Cases are the rows on the memory engine; allocations are what they are about.
func Cases() []measure.Case {
	db := memstore.New(memstore.Options{})
	engine := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		call := refrain.Call{Contract: contract, Scope: north, Key: r.Header.Get("Idempotency-Key"), Print: new(fingerprint.Print)}
		_, _ = db.Execute(r.Context(), call, func(context.Context, memstore.Tx) (refrain.Result, error) {
			return refrain.Result{Status: http.StatusCreated}, create(w, r)
		})
	})
	guarded := refrainhttp.Handle(guard, memstore.New(memstore.Options{}), contract,
		func(w http.ResponseWriter, r *http.Request, _ memstore.Tx) error { return create(w, r) })
	return []measure.Case{
		{Name: "bare handler", Op: post(bare)},
		{Name: "handler in the memory engine", Base: "bare handler", Op: post(engine)},
		{Name: "handler behind Handle, memory engine", Base: "bare handler", Op: post(guarded)},
		{Name: "handler behind Wrap, memory engine", Base: "bare handler", Op: post(refrainhttp.Wrap(guard, memstore.New(memstore.Options{}), contract, bare))},
	}
}
