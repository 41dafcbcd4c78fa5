package servers

import (
	"encoding/json"
	"net/http"

	"github.com/refrain-dev/refrain/mysql"
	"github.com/refrain-dev/refrain/refrainhttp"
)

// OnMySQL is POST /orders on MySQL or MariaDB.
func OnMySQL(guard refrainhttp.Guard, shop *mysql.DB) http.Handler {
	return refrainhttp.Handle(guard, shop, Contract, func(w http.ResponseWriter, r *http.Request, tx mysql.Tx) error {
		var order Order
		if err := json.NewDecoder(r.Body).Decode(&order); err != nil {
			http.Error(w, "not an order", http.StatusBadRequest)
			return nil
		}
		result, err := tx.ExecContext(r.Context(), `INSERT INTO shop_order (item) VALUES (?)`, order.Item)
		if err != nil {
			return err
		}
		id, err := result.LastInsertId()
		if err != nil {
			return err
		}
		return created(w, id)
	})
}
