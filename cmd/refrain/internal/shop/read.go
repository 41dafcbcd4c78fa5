package shop

import (
	"context"
	"database/sql"
	"errors"
	"net/http"
	"strconv"
)

const (
	defaultLimit = 100
	maxLimit     = 1000
)

// list answers with the number of the tenant's orders and the newest of them.
func (s *Shop) list(w http.ResponseWriter, r *http.Request) {
	tenant, ok := s.tenant(w, r)
	if !ok {
		return
	}
	limit := defaultLimit
	if text := r.URL.Query().Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > maxLimit {
			writeProblem(w, http.StatusBadRequest, "invalid-limit", "The limit is not valid", "limit must be an integer from 1 to 1000.")
			return
		}
		limit = n
	}
	var answer struct {
		Count  int64   `json:"count"`
		Orders []order `json:"orders"`
	}
	var err error
	if answer.Orders, answer.Count, err = s.orders(r.Context(), tenant, limit); err != nil {
		unreadable(w)
		return
	}
	writeJSON(w, http.StatusOK, answer)
}

// orders reads the newest orders and how many there are, in one snapshot.
func (s *Shop) orders(ctx context.Context, tenant string, limit int) (orders []order, count int64, err error) {
	orders = []order{}
	rows, err := s.db.Reader().QueryContext(ctx, `SELECT order_id, sku, quantity, (SELECT count(*) FROM demo_order WHERE tenant = ?1)
		FROM demo_order WHERE tenant = ?1 ORDER BY n DESC LIMIT ?2`, tenant, limit)
	if err != nil {
		return nil, 0, err
	}
	defer rows.Close()
	for rows.Next() {
		var o order
		if err := rows.Scan(&o.ID, &o.SKU, &o.Quantity, &count); err != nil {
			return nil, 0, err
		}
		orders = append(orders, o)
	}
	return orders, count, rows.Err()
}

// show answers with one order. Another tenant's is not found.
func (s *Shop) show(w http.ResponseWriter, r *http.Request) {
	tenant, ok := s.tenant(w, r)
	if !ok {
		return
	}
	o := order{ID: r.PathValue("id")}
	err := s.db.Reader().QueryRowContext(r.Context(), `SELECT sku, quantity FROM demo_order WHERE order_id = ? AND tenant = ?`,
		o.ID, tenant).Scan(&o.SKU, &o.Quantity)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		writeProblem(w, http.StatusNotFound, "not-found", "No such order", "No order with this id is known to you here.")
	case err != nil:
		unreadable(w)
	default:
		writeJSON(w, http.StatusOK, o)
	}
}
