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
	limit, ok := limit(w, r)
	if !ok {
		return
	}
	var answer struct {
		Count  int64   `json:"count"`
		Orders []order `json:"orders"`
	}
	var err error
	if answer.Orders, answer.Count, err = s.orders(r.Context(), tenant, limit); err != nil {
		writeProblem(w, notReadable, "")
		return
	}
	writeJSON(w, http.StatusOK, answer)
}

// limit is how many entries a list is asked for; ok is false when 400 was answered.
func limit(w http.ResponseWriter, r *http.Request) (n int, ok bool) {
	text := r.URL.Query().Get("limit")
	if text == "" {
		return defaultLimit, true
	}
	n, err := strconv.Atoi(text)
	if ok = err == nil && n >= 1 && n <= maxLimit; !ok {
		writeProblem(w, badLimit, "")
	}
	return n, ok
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
	answerRow(w, o, err)
}

// answerRow answers with the row that was read, or with why there is none.
func answerRow(w http.ResponseWriter, row any, err error) {
	switch {
	case errors.Is(err, sql.ErrNoRows):
		writeProblem(w, notFound, "")
	case err != nil:
		writeProblem(w, notReadable, "")
	default:
		writeJSON(w, http.StatusOK, row)
	}
}
