// Package payment takes orders over HTTP and pays for them at a provider: the
// order and the intent to charge commit together, the charge is made once, and
// the client gets what came of it, now or when it asks again.
package payment

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/external"
	"github.com/refrain-dev/refrain/memstore"
	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/refrainhttp"
)

// Contract is the policy of orders.
var Contract = refrain.Contract{
	Operation: "orders.create", Schema: "1", ReplayFor: 24 * time.Hour, RememberFor: 30 * 24 * time.Hour, Wait: 10 * time.Second,
}

type charge struct {
	Order string `json:"order"`
}

type receipt struct {
	Card string `json:"card"`
}

// New returns the shop and the runner that pays, whose Run is to be called.
func New(db *memstore.DB, guard refrainhttp.Guard, bank external.Provider) (http.Handler, *external.Runner[memstore.Tx], error) {
	pay := external.Define(external.Effect[memstore.Tx, charge, receipt]{
		Name: "charge", Provider: "bank", Needs: external.Needs{DedupesFor: time.Hour},
		Settle: func(_ context.Context, tx memstore.Tx, s external.Outcome[charge, receipt]) (record.Result, error) {
			state, status := "paid", http.StatusCreated
			if !s.Confirmed {
				state, status = "declined", http.StatusPaymentRequired
			}
			if err := tx.Put("orders", s.Input.Order, []byte(state)); err != nil {
				return record.Result{}, err
			}
			return external.JSON(status, map[string]string{"order": s.Input.Order, "state": state, "card": s.Answer.Card})
		},
	})
	runner, err := external.New(db.Operations(), external.Options{Providers: map[string]external.Provider{"bank": bank}}, pay.Step())
	if err != nil {
		return nil, nil, err
	}
	guard.Await = runner.Await
	return refrainhttp.Handle(guard, db, Contract, func(_ http.ResponseWriter, r *http.Request, tx memstore.Tx) error {
		order, err := io.ReadAll(r.Body)
		if err != nil {
			return fmt.Errorf("the order: %w", err)
		}
		if err := tx.Put("orders", string(order), []byte("pending")); err != nil {
			return err
		}
		_, err = pay.Accept(r.Context(), tx, charge{Order: string(order)})
		return err
	}), runner, nil
}
