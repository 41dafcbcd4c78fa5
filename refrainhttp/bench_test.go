package refrainhttp_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/refrain-dev/refrain/memstore"
	"github.com/refrain-dev/refrain/refrainhttp"
)

const smallOrder = `{"sku":"A-1","amount":2,"note":"ring twice"}`

// guardBudget is how many allocations the guard may add to a bare handler for
// a fresh request with a small JSON body, the engine in memory included.
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
