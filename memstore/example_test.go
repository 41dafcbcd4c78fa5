package memstore_test

import (
	"context"
	"fmt"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/memstore"
)

func Example() {
	db := memstore.New(memstore.Options{})
	create := refrain.Contract{
		Operation: "orders.create", Schema: "1",
		ReplayFor: 24 * time.Hour, RememberFor: 30 * 24 * time.Hour,
	}
	for range 2 {
		out, err := refrain.Do(context.Background(), db,
			refrain.Call{Contract: create, Scope: refrain.Tenant("north"), Key: "intent-a", Input: map[string]int{"quantity": 2}},
			func(_ context.Context, tx memstore.Tx) (string, error) {
				return "order 1", tx.Put("orders", "1", []byte("2 apples"))
			})
		fmt.Println(out.Value, out.Replayed, err)
	}
	// Output:
	// order 1 false <nil>
	// order 1 true <nil>
}
