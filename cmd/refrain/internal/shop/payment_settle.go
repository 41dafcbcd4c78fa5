package shop

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/external"
	"github.com/refrain-dev/refrain/record"
)

// charge is what the provider is sent. It takes no notice of the payment's id.
type charge struct {
	Payment  string `json:"payment_id"`
	Account  string `json:"account"`
	Amount   int64  `json:"amount"`
	Currency string `json:"currency"`
}

// settle writes what became of the charge and renders the answer, in the
// transaction that makes the outcome final.
func (s *Shop) settle(ctx context.Context, tx refrain.SQLTx, o external.Outcome[charge, struct{}]) (record.Result, error) {
	p := payment{ID: o.Input.Payment, Account: o.Input.Account, Amount: o.Input.Amount, Currency: o.Input.Currency, State: refused}
	if o.Confirmed {
		p.State, p.Charge = paid, o.Reply.Reference
	}
	_, err := tx.ExecContext(ctx, s.db.SQL(`UPDATE demo_payment SET state = ?, charge = ? WHERE payment_id = ?`), p.State, p.Charge, p.ID)
	if err != nil {
		return record.Result{}, err
	}
	if !o.Confirmed {
		return document(declined.Status, "application/problem+json", declined.document(""))
	}
	result, err := document(http.StatusCreated, "application/json", p)
	result.Header = append(result.Header, [2]string{"Location", paymentPath + p.ID})
	return result, err
}

// document is the answer that write would give.
func document(status int, media string, doc any) (record.Result, error) {
	body, err := json.Marshal(doc)
	return record.Result{
		Status: status, Header: [][2]string{{"Content-Type", media}, {"Cache-Control", "no-store"}}, Body: append(body, '\n'),
	}, err
}
