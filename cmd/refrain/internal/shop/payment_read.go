package shop

import (
	"context"
	"net/http"
)

// paymentPath begins the path of one payment.
const paymentPath = "/v1/payments/"

// listPayments answers with the number of the tenant's payments and the newest of
// them.
func (s *Shop) listPayments(w http.ResponseWriter, r *http.Request) {
	tenant, limit, ok := s.asksList(w, r)
	if !ok {
		return
	}
	payments, count, err := s.payments(r.Context(), tenant, limit)
	answerRow(w, struct {
		Count    int64     `json:"count"`
		Payments []payment `json:"payments"`
	}{count, payments}, err)
}

// payments reads the newest payments and how many there are, in one snapshot.
func (s *Shop) payments(ctx context.Context, tenant string, limit int) (payments []payment, count int64, err error) {
	return newest(ctx, s, `SELECT payment_id, account, amount, currency, state, charge, refrain_ref, (SELECT count(*) FROM demo_payment WHERE tenant = ?)
		FROM demo_payment WHERE tenant = ? ORDER BY n DESC LIMIT ?`, tenant, limit,
		func(p *payment) []any {
			return []any{&p.ID, &p.Account, &p.Amount, &p.Currency, &p.State, &p.Charge, &p.Ref}
		})
}

// showPayment answers with one payment. Another tenant's is not found.
func (s *Shop) showPayment(w http.ResponseWriter, r *http.Request) {
	tenant, ok := s.tenant(w, r)
	if !ok {
		return
	}
	p := payment{ID: r.PathValue("id")}
	err := s.row(r.Context(), `SELECT account, amount, currency, state, charge, refrain_ref FROM demo_payment WHERE payment_id = ? AND tenant = ?`, p.ID, tenant).
		Scan(&p.Account, &p.Amount, &p.Currency, &p.State, &p.Charge, &p.Ref)
	answerRow(w, p, err)
}
