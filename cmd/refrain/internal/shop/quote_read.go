package shop

import (
	"context"
	"database/sql"
	"errors"
	"net/http"
)

// quotePath begins the path of one quote.
const quotePath = "/v1/quotes/"

// listQuotes answers with the number of the tenant's quotes and the newest of them.
func (s *Shop) listQuotes(w http.ResponseWriter, r *http.Request) {
	tenant, limit, ok := s.asksList(w, r)
	if !ok {
		return
	}
	quotes, count, err := s.quotes(r.Context(), tenant, limit)
	answerRow(w, struct {
		Count  int64   `json:"count"`
		Quotes []quote `json:"quotes"`
	}{count, quotes}, err)
}

// quotes reads the newest quotes and how many there are, in one snapshot.
func (s *Shop) quotes(ctx context.Context, tenant string, limit int) (quotes []quote, count int64, err error) {
	return newest(ctx, s, `SELECT quote_id, text, refrain_ref, (SELECT count(*) FROM {quotes} WHERE tenant = ?)
		FROM {quotes} WHERE tenant = ? ORDER BY n DESC LIMIT ?`, tenant, limit,
		func(q *quote) []any { return []any{&q.ID, &q.Text, &q.Ref} })
}

// showQuote answers with one quote. Another tenant's is not found.
func (s *Shop) showQuote(w http.ResponseWriter, r *http.Request) {
	tenant, ok := s.tenant(w, r)
	if !ok {
		return
	}
	q := quote{ID: r.PathValue("id")}
	err := s.row(r.Context(), `SELECT text, refrain_ref FROM {quotes} WHERE quote_id = ? AND tenant = ?`, q.ID, tenant).Scan(&q.Text, &q.Ref)
	answerRow(w, q, err)
}

// quoteOf is the quote an action made, "" for none.
func (s *Shop) quoteOf(ctx context.Context, ref string) (id string, err error) {
	err = s.row(ctx, `SELECT quote_id FROM {quotes} WHERE refrain_ref = ?`, ref).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return id, err
}
