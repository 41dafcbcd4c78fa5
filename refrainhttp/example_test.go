package refrainhttp_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/memstore"
	"github.com/refrain-dev/refrain/refrainhttp"
)

func ExampleHandle() {
	shop := memstore.New(memstore.Options{})
	create := refrain.Contract{
		Operation: "orders.create", Schema: "1",
		ReplayFor: 24 * time.Hour, RememberFor: 30 * 24 * time.Hour,
	}
	guard := refrainhttp.Guard{
		StatusPath: "/v1/operations",
		Principal: func(r *http.Request) (refrain.Scope, error) {
			if r.Header.Get("Authorization") != "Bearer north-token" {
				return refrain.Scope{}, refrain.ErrUnauthenticated
			}
			return refrain.Tenant("north"), nil
		},
	}

	mux := http.NewServeMux()
	mux.Handle("POST /orders", refrainhttp.Handle(guard, shop, create,
		func(w http.ResponseWriter, r *http.Request, tx memstore.Tx) error {
			order, err := io.ReadAll(r.Body)
			if err != nil {
				return err
			}
			if err := tx.Put("orders", "17", order); err != nil {
				return err
			}
			w.Header().Set("Location", "/orders/17")
			w.WriteHeader(http.StatusCreated)
			_, err = io.WriteString(w, `{"id":17}`)
			return err
		}))
	status := refrainhttp.Status(guard, shop, create)
	mux.Handle("/v1/operations", status)
	mux.Handle("/v1/operations/", status)
	mux.Handle(refrainhttp.WellKnownPath, refrainhttp.WellKnown(guard, shop, create))

	for range 2 {
		r := httptest.NewRequest("POST", "/orders", strings.NewReader(`{"sku":"A-1"}`))
		r.Header.Set("Authorization", "Bearer north-token")
		r.Header.Set("Idempotency-Key", "0198c6b2-7c1e-7000-8000-3f1d8f9a2b11")
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		fmt.Println(w.Code, w.Body, "replayed:", w.Header().Get("Idempotent-Replayed") == "true")
	}
	// Output:
	// 201 {"id":17} replayed: false
	// 201 {"id":17} replayed: true
}
