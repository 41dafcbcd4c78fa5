package main

import (
	"context"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/refraintest"
	"github.com/refrain-dev/refrain/sqlite"
)

// readme: endpoint
func TestOrders(t *testing.T) {
	var clock refraintest.Clock
	shop := openShop(t, clock.Now)
	refraintest.Endpoint(t, routes(shop, clock.Now), refraintest.EndpointConfig{ // retries, herds, other tenants, deadlines, …
		Path: "/orders", Body: `{"item":"tea"}`, OtherBody: `{"item":"coffee"}`,
		Credential: http.Header{"Authorization": {"Bearer north"}}, OtherCredential: http.Header{"Authorization": {"Bearer south"}},
		Effects: func() int { return countOrders(t, shop) }, Contract: createOrder, Clock: &clock,
	})
}

func TestInsertOrder(t *testing.T) { // runs, rolls back, runs again, then fails and cancels each statement in turn
	refraintest.Effect(t, openShop(t, time.Now), refrain.Call{Contract: createOrder, Scope: refrain.Tenant("north"), Key: "k1"},
		refraintest.FromDo(func(ctx context.Context, tx sqlite.Tx) (int64, error) { return insert(ctx, tx, "tea") }))
}

// readme: end

func openShop(t *testing.T, now func() time.Time) *sqlite.DB {
	t.Helper()
	shop, err := open(t.Context(), filepath.Join(t.TempDir(), "orders.db"), now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = shop.Close(context.Background()) })
	return shop
}

func countOrders(t *testing.T, shop *sqlite.DB) (n int) {
	t.Helper()
	if err := shop.Reader().QueryRow(`SELECT count(*) FROM orders`).Scan(&n); err != nil {
		t.Error(err)
	}
	return n
}
