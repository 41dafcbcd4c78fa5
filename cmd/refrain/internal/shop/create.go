package shop

import (
	"crypto/rand"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/refrainhttp"
)

// create is the guarded handler. The row it inserts, the record and the answer
// commit together. An invalid order is answered without a write and without a
// declaration, so its key stays free; a refusal is declared and recorded.
func (s *Shop) create(w http.ResponseWriter, r *http.Request, tx refrain.SQLTx) error {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	o, err := parseOrder(r.Header.Get("Content-Type"), body)
	switch {
	case errors.Is(err, errMediaType):
		writeProblem(w, badMedia, err.Error())
		return nil
	case err != nil:
		writeProblem(w, badOrder, err.Error())
		return nil
	case o.SKU == soldOut:
		refrainhttp.Refuse(w)
		writeProblem(w, outOfStock, "")
		return nil
	}
	running, _ := refrain.CallFrom(r.Context())
	o.ID = "ord_" + strings.ToLower(rand.Text())
	_, err = tx.ExecContext(r.Context(), s.db.SQL(`INSERT INTO demo_order (order_id, tenant, sku, quantity, refrain_ref) VALUES (?, ?, ?, ?, ?)`),
		o.ID, running.Scope.Get("tenant"), o.SKU, o.Quantity, running.Ref)
	if err != nil {
		return err
	}
	if err := s.pause(r.Context(), s.delay); err != nil {
		return err
	}
	w.Header().Set("Location", "/v1/orders/"+o.ID)
	writeJSON(w, http.StatusCreated, o)
	return nil
}
