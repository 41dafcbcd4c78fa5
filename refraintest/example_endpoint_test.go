package refraintest_test

import (
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/memstore"
	"github.com/refrain-dev/refrain/refrainhttp"
	"github.com/refrain-dev/refrain/refraintest"
)

// The principal function forgets whose token it is, so tenants share records.
func ExampleEndpoint() {
	t := reporter{} // in a test: its t *testing.T
	var clock refraintest.Clock
	shop := memstore.New(memstore.Options{Now: clock.Now})
	create := refrain.Contract{
		Operation: "orders.create", Schema: "1",
		ReplayFor: 24 * time.Hour, RememberFor: 30 * 24 * time.Hour,
	}
	guard := refrainhttp.Guard{
		Now: clock.Now,
		Principal: func(r *http.Request) (refrain.Scope, error) {
			if r.Header.Get("Authorization") == "" {
				return refrain.Scope{}, refrain.ErrUnauthenticated
			}
			return refrain.Tenant("everybody"), nil
		},
	}
	handler := refrainhttp.Handle(guard, shop, create, func(w http.ResponseWriter, r *http.Request, tx memstore.Tx) error {
		running, _ := refrain.CallFrom(r.Context())
		if err := tx.Put("orders", running.Ref, nil); err != nil {
			return err
		}
		w.WriteHeader(http.StatusCreated)
		_, err := io.WriteString(w, "created")
		return err
	})

	refraintest.Endpoint(t, handler, refraintest.EndpointConfig{
		Path: "/orders", Body: `{"item":"tea","amount":2}`, OtherBody: `{"item":"tea","amount":3}`,
		Credential:      http.Header{"Authorization": {"Bearer north-token"}},
		OtherCredential: http.Header{"Authorization": {"Bearer south-token"}},
		Contract:        create,
		Clock:           &clock,
		Effects: func() (n int) {
			for range shop.Scan("orders") {
				n++
			}
			return n
		},
		Skip: []string{"key too long"}, // to show how; better none
	})
	fmt.Println("every other row holds")
	// Output:
	// refraintest: another caller: another caller's request with an equal key was taken for a repeat: 201 "created"
	// refraintest: another caller: 1 effects, want 2
	// every other row holds
}
