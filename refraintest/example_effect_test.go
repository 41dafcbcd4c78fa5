package refraintest_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/memstore"
	"github.com/refrain-dev/refrain/refraintest"
)

// reporter stands for the *testing.T of a test.
type reporter struct{ testing.TB }

func (reporter) Helper()                           {}
func (reporter) Context() context.Context          { return context.Background() }
func (reporter) Logf(string, ...any)               {}
func (reporter) Errorf(format string, args ...any) { fmt.Printf(format+"\n", args...) }

// The effect numbers orders in memory. After a rollback the number is used up,
// and the client of the second run gets another answer than the first one's.
func ExampleEffect() {
	t := reporter{} // in a test: its t *testing.T
	shop := memstore.New(memstore.Options{})
	create := refrain.Contract{
		Operation: "orders.create", Schema: "1",
		ReplayFor: 24 * time.Hour, RememberFor: 30 * 24 * time.Hour,
	}
	last := 0
	effect := func(_ context.Context, tx memstore.Tx) (int, error) {
		last++
		return last, tx.Put("orders", fmt.Sprint(last), []byte("tea"))
	}

	call := refrain.Call{Contract: create, Scope: refrain.Tenant("north"), Key: "k1", Input: "tea"}
	refraintest.Effect(t, shop, call, refraintest.FromDo(effect))
	// Output:
	// refraintest: the second run answers otherwise than the first, although that one was rolled back: the body is "2", it was "1".
	// 	The effect keeps state outside its transaction; if it is an id or a time that rightly differs, replace it in Normalise.
}
