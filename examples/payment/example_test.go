package payment_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/external"
	"github.com/refrain-dev/refrain/memstore"
	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/refrainhttp"

	"github.com/refrain-dev/refrain/examples/payment"
)

// bank stands for a payment provider; external.HTTP with a profile is a real one.
type bank struct{ charges int }

func (*bank) Terms() operation.Terms { return operation.Terms{Dedupes: true} }

func (b *bank) Submit(_ context.Context, s external.Submission) operation.Reply {
	if err := s.Gate(); err != nil {
		return operation.Reply{End: operation.NotSent, Note: err.Error()}
	}
	b.charges++
	return operation.Reply{End: operation.Confirmed, Reference: "ch_1", Body: []byte(`{"card":"4242"}`)}
}

func Example() {
	visa := &bank{}
	guard := refrainhttp.Guard{Principal: func(*http.Request) (refrain.Scope, error) { return refrain.Tenant("north"), nil }}
	shop, runner, err := payment.New(memstore.New(memstore.Options{}), guard, visa)
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- runner.Run(ctx) }()

	for range 2 {
		r := httptest.NewRequest("POST", "/orders", strings.NewReader("17"))
		r.Header.Set("Idempotency-Key", "order-17")
		w := httptest.NewRecorder()
		shop.ServeHTTP(w, r)
		fmt.Println(w.Code, w.Body, "replayed:", w.Header().Get("Idempotent-Replayed") == "true")
	}
	stop()
	fmt.Println(<-ended, "charges:", visa.charges)
	// Output:
	// 201 {"card":"4242","order":"17","state":"paid"} replayed: false
	// 201 {"card":"4242","order":"17","state":"paid"} replayed: true
	// <nil> charges: 1
}
