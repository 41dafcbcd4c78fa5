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

// A handler that charges a card at a provider, behind middleware. When the
// provider's answer is lost nobody knows whether the card was charged, and no
// retry charges it again.
func ExampleWrap() {
	store := memstore.New(memstore.Options{})
	charges := refrain.Contract{
		Operation: "charges.create", Schema: "1",
		ReplayFor: 24 * time.Hour, RememberFor: 30 * 24 * time.Hour,
	}
	guard := refrainhttp.Guard{
		Principal: func(*http.Request) (refrain.Scope, error) { return refrain.Tenant("north"), nil },
	}
	idempotent := func(next http.Handler) http.Handler { return refrainhttp.Wrap(guard, store, charges, next) }

	charged := 0
	charge := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		card, _ := io.ReadAll(r.Body)
		charged++
		if strings.Contains(string(card), "lost") {
			http.Error(w, "the provider did not answer", http.StatusBadGateway)
			return
		}
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, "charged")
	})

	mux := http.NewServeMux()
	mux.Handle("POST /charges", idempotent(charge))
	for _, card := range []string{"4242", "4242", "lost", "lost"} {
		r := httptest.NewRequest("POST", "/charges", strings.NewReader(card))
		r.Header.Set("Idempotency-Key", "card-"+card)
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		fmt.Println(w.Code, w.Header().Get("Idempotency-Status"), "charged:", charged)
	}
	// Output:
	// 201  charged: 1
	// 201  charged: 1
	// 502  charged: 2
	// 409 outcome-unknown charged: 2
}
