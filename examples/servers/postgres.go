// Package servers shows one endpoint on PostgreSQL and on MySQL or MariaDB, and
// the same action in a group of statements.
package servers

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/postgres"
	"github.com/refrain-dev/refrain/refrainhttp"
)

// Order is what a client sends.
type Order struct {
	Item string `json:"item"`
}

// Contract is the policy of new orders.
var Contract = refrain.Contract{
	Operation: "orders.create", Schema: "1",
	ReplayFor: 24 * time.Hour, RememberFor: 30 * 24 * time.Hour,
}

// OnPostgres is POST /orders on PostgreSQL.
func OnPostgres(guard refrainhttp.Guard, shop *postgres.DB) http.Handler {
	return refrainhttp.Handle(guard, shop, Contract, func(w http.ResponseWriter, r *http.Request, tx pgx.Tx) error {
		var order Order
		if err := json.NewDecoder(r.Body).Decode(&order); err != nil {
			http.Error(w, "not an order", http.StatusBadRequest) // sent, not recorded: nothing was written
			return nil
		}
		var id int64
		err := tx.QueryRow(r.Context(), `INSERT INTO shop_order (item) VALUES ($1) RETURNING id`, order.Item).Scan(&id)
		if err != nil {
			return err
		}
		return created(w, id)
	})
}

func created(w http.ResponseWriter, id int64) error {
	w.Header().Set("Location", fmt.Sprint("/orders/", id))
	w.WriteHeader(http.StatusCreated)
	return json.NewEncoder(w).Encode(map[string]int64{"id": id})
}

// Import is one line of a large import: many callers at once share a COMMIT. The
// id is the client's, so there is no row to read before the answer.
func Import(ctx context.Context, group *postgres.Group, key string, id int64, order Order) (refrain.Outcome, error) {
	call := refrain.Call{Contract: Contract, Scope: refrain.Tenant("importer"), Key: key, Input: order}
	return group.Execute(ctx, call, func(_ context.Context, batch *postgres.Batch) (refrain.Result, error) {
		batch.Queue(`INSERT INTO shop_order (id, item) VALUES ($1, $2)`, id, order.Item)
		return refrain.Result{Effect: fmt.Sprint("/orders/", id)}, nil
	})
}
