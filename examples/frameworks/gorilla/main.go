// Command gorilla is the shop behind github.com/gorilla/mux.
//
//	go run ./gorilla
//	curl -i localhost:8083/accounts/7/charges -H 'Authorization: Bearer north' -H 'Idempotency-Key: k1' -d tea
package main

import (
	"context"
	"errors"
	"io"
	"log"
	"net/http"

	"github.com/gorilla/handlers"
	"github.com/gorilla/mux"

	"github.com/refrain-dev/refrain/examples/frameworks/shop"
)

func main() {
	s, err := shop.Open(context.Background(), "gorilla.db")
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(http.ListenAndServe("localhost:8083", routes(s)))
}

func routes(s *shop.Shop) http.Handler {
	pay := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		order, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		receipt, err := s.Pay(r.Context(), account(r), string(order))
		switch {
		case errors.Is(err, shop.ErrDeclined):
			http.Error(w, err.Error(), http.StatusPaymentRequired)
		case err != nil:
			http.Error(w, err.Error(), http.StatusBadGateway)
		default:
			w.WriteHeader(http.StatusCreated)
			_, _ = io.WriteString(w, receipt)
		}
	})
	export := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := s.Export(r.Context(), account(r), func(line string) error {
			_, err := io.WriteString(w, line)
			return errors.Join(err, http.NewResponseController(w).Flush())
		})
		if err != nil {
			panic(http.ErrAbortHandler)
		}
	})

	r := mux.NewRouter()
	recovering := handlers.RecoveryHandler(handlers.RecoveryLogger(log.Default()))
	accounts := r.PathPrefix("/accounts/{account}").Methods(http.MethodPost).Subrouter()
	accounts.Use(recovering)
	accounts.Handle("/charges", s.Wrap(shop.Charges)(pay))
	accounts.Handle("/refunds", s.Wrap(shop.Refunds)(recovering(pay)))
	accounts.Handle("/exports", s.Wrap(shop.Exports)(export))
	accounts.Handle("/orders", s.CreateOrder(account))
	return r
}

func account(r *http.Request) string { return mux.Vars(r)["account"] }
