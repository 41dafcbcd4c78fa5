// Package readme holds the code the README shows, so that it compiles.
package readme

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/refrainhttp"
	"github.com/refrain-dev/refrain/sqlite"
)

// Order is what the README's shop sells.
type Order struct {
	ID   int64  `json:"id"`
	Item string `json:"item"`
}

// Serve is the HTTP form.
func Serve(mux *http.ServeMux, principalFromToken func(*http.Request) (refrain.Scope, error)) error {
	// readme: handle
	shop, err := sqlite.Open("shop.db")
	if err != nil {
		return err
	}
	create := refrain.Contract{Operation: "orders.create", Schema: "1", ReplayFor: 24 * time.Hour, RememberFor: 30 * 24 * time.Hour}
	guard := refrainhttp.Guard{Principal: principalFromToken} // authentication is not optional
	mux.Handle("POST /orders", refrainhttp.Handle(guard, shop, create,
		func(w http.ResponseWriter, r *http.Request, tx sqlite.Tx) error {
			// read r, write rows with tx, answer on w: all of it commits together, or none
			return placeOrder(w, r, tx)
		}))
	// readme: end
	return nil
}

// Call is the library form.
func Call(ctx context.Context, shop *sqlite.DB, create refrain.Contract, key string, order Order) (Order, error) {
	// readme: do
	out, err := refrain.Do(ctx, shop, refrain.Call{Contract: create, Scope: refrain.Tenant("north"), Key: key, Input: order},
		func(ctx context.Context, tx sqlite.Tx) (Order, error) { return insertOrder(ctx, tx, order) })
	// out.Value, out.Replayed, out.Ref
	// readme: end
	return out.Value, err
}

func placeOrder(w http.ResponseWriter, r *http.Request, tx sqlite.Tx) error {
	var order Order
	if err := json.NewDecoder(r.Body).Decode(&order); err != nil {
		return err
	}
	order, err := insertOrder(r.Context(), tx, order)
	if err != nil {
		return err
	}
	w.WriteHeader(http.StatusCreated)
	return json.NewEncoder(w).Encode(order)
}

func insertOrder(ctx context.Context, tx sqlite.Tx, order Order) (Order, error) {
	res, err := tx.ExecContext(ctx, `INSERT INTO orders (item) VALUES (?)`, order.Item)
	if err != nil {
		return order, err
	}
	order.ID, err = res.LastInsertId()
	return order, err
}
