package shop

import (
	"crypto/rand"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/refrain-dev/refrain"
)

// pay is the guarded handler of a payment. The row it inserts and the intent to
// charge commit together; the charge itself comes after, and its outcome is the
// answer. An invalid payment is answered without a write: its key stays free.
func (s *Shop) pay(w http.ResponseWriter, r *http.Request, tx refrain.SQLTx) error {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	p, err := parsePayment(r.Header.Get("Content-Type"), body)
	switch {
	case errors.Is(err, errMediaType):
		writeProblem(w, badMedia, err.Error())
		return nil
	case err != nil:
		writeProblem(w, badPayment, err.Error())
		return nil
	}
	ctx := r.Context()
	running, _ := refrain.CallFrom(ctx)
	p.ID = "pay_" + strings.ToLower(rand.Text())
	_, err = tx.ExecContext(ctx, s.db.SQL(`INSERT INTO demo_payment (payment_id, tenant, account, amount, currency, state, charge, refrain_ref)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?)`), p.ID, running.Scope.Get("tenant"), p.Account, p.Amount, p.Currency, pending, "", running.Ref)
	if err != nil {
		return err
	}
	return s.till.accept(ctx, tx, charge{p.ID, p.Account, p.Amount, p.Currency})
}
