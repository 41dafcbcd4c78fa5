package refrainhttp_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/fingerprint"
	"github.com/refrain-dev/refrain/memstore"
	"github.com/refrain-dev/refrain/refrainhttp"
)

const smallOrder = `{"sku":"A-1","amount":2,"note":"ring twice"}`

// guardBudget is how many allocations guard and memory engine may add to the
// bare handler for a fresh request with a small JSON body.
const guardBudget = 45

func bareOrder(w http.ResponseWriter, r *http.Request) error {
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

// blank is a ResponseWriter that costs nothing itself.
type blank struct{ header http.Header }

func (b blank) Header() http.Header         { return b.header }
func (b blank) Write(p []byte) (int, error) { return len(p), nil }
func (b blank) WriteHeader(int)             {}

func benchmarkOrder(b *testing.B, h http.Handler) {
	w := blank{make(http.Header)}
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		n++
		r := httptest.NewRequest("POST", "/orders", strings.NewReader(smallOrder))
		r.Pattern = "POST /orders"
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Idempotency-Key", "order-"+strconv.Itoa(n))
		clear(w.header)
		h.ServeHTTP(w, r)
	}
}

func bareHandler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _ = bareOrder(w, r) })
}

func guardedHandler() http.Handler {
	return refrainhttp.Handle(guard, memstore.New(memstore.Options{}), orders,
		func(w http.ResponseWriter, r *http.Request, _ memstore.Tx) error { return bareOrder(w, r) })
}

func BenchmarkBare(b *testing.B)  { benchmarkOrder(b, bareHandler()) }
func BenchmarkGuard(b *testing.B) { benchmarkOrder(b, guardedHandler()) }

// TestGuardAllocations holds the budget; the race detector empties pools at
// random and is not counted.
func TestGuardAllocations(t *testing.T) {
	w := blank{make(http.Header)}
	n := 0
	measure := func(h http.Handler) float64 {
		return testing.AllocsPerRun(500, func() {
			n++
			r := httptest.NewRequest("POST", "/orders", strings.NewReader(smallOrder))
			r.Pattern = "POST /orders"
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Idempotency-Key", "order-"+strconv.Itoa(n))
			clear(w.header)
			h.ServeHTTP(w, r)
		})
	}
	db := memstore.New(memstore.Options{})
	engine := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		call := refrain.Call{Contract: orders, Scope: north, Key: r.Header.Get("Idempotency-Key"), Print: new(fingerprint.Print)}
		_, _ = db.Execute(r.Context(), call, func(context.Context, memstore.Tx) (refrain.Result, error) {
			return refrain.Result{Status: 201}, bareOrder(w, r)
		})
	})
	bare, alone, guarded := measure(bareHandler()), measure(engine), measure(guardedHandler())
	t.Logf("bare %.0f, in the engine %.0f, guarded %.0f: the guard adds %.0f, with the engine %.0f",
		bare, alone, guarded, guarded-alone, guarded-bare)
	if added := guarded - bare; added > guardBudget && !raced {
		t.Errorf("the guard adds %.0f allocations, its budget is %d", added, guardBudget)
	}
}
