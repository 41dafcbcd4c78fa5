package shop

import (
	"context"
	"net/http"
)

// list answers with the number of the tenant's orders and the newest of them.
func (s *Shop) list(w http.ResponseWriter, r *http.Request) {
	tenant, limit, ok := s.asksList(w, r)
	if !ok {
		return
	}
	orders, count, err := s.orders(r.Context(), tenant, limit)
	answerRow(w, struct {
		Count  int64   `json:"count"`
		Orders []order `json:"orders"`
	}{count, orders}, err)
}

// orders reads the newest orders and how many there are, in one snapshot.
func (s *Shop) orders(ctx context.Context, tenant string, limit int) (orders []order, count int64, err error) {
	return newest(ctx, s, `SELECT order_id, sku, quantity, (SELECT count(*) FROM demo_order WHERE tenant = ?)
		FROM demo_order WHERE tenant = ? ORDER BY n DESC LIMIT ?`, tenant, limit,
		func(o *order) []any { return []any{&o.ID, &o.SKU, &o.Quantity} })
}

// show answers with one order. Another tenant's is not found.
func (s *Shop) show(w http.ResponseWriter, r *http.Request) {
	tenant, ok := s.tenant(w, r)
	if !ok {
		return
	}
	o := order{ID: r.PathValue("id")}
	err := s.row(r.Context(), `SELECT sku, quantity FROM demo_order WHERE order_id = ? AND tenant = ?`, o.ID, tenant).Scan(&o.SKU, &o.Quantity)
	answerRow(w, o, err)
}
