// Command chi is the shop behind github.com/go-chi/chi.
//
//	go run ./chi
//	curl -i localhost:8082/accounts/7/charges -H 'Authorization: Bearer north' -H 'Idempotency-Key: k1' -d tea
package main

import (
	"context"
	"errors"
	"io"
	"log"
	"net/http"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"

	"github.com/refrain-dev/refrain/examples/frameworks/shop"
)

func main() {
	s, err := shop.Open(context.Background(), "chi.db")
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(http.ListenAndServe("localhost:8082", routes(s)))
}

func routes(s *shop.Shop) http.Handler {
	pay := func(w http.ResponseWriter, r *http.Request) {
		order, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		receipt, err := s.Pay(r.Context(), chi.URLParam(r, "account"), string(order))
		switch {
		case errors.Is(err, shop.ErrDeclined):
			http.Error(w, err.Error(), http.StatusPaymentRequired)
		case err != nil:
			http.Error(w, err.Error(), http.StatusBadGateway)
		default:
			w.WriteHeader(http.StatusCreated)
			_, _ = io.WriteString(w, receipt)
		}
	}
	export := func(w http.ResponseWriter, r *http.Request) {
		err := s.Export(r.Context(), chi.URLParam(r, "account"), func(line string) error {
			_, err := io.WriteString(w, line)
			return errors.Join(err, http.NewResponseController(w).Flush())
		})
		if err != nil {
			panic(http.ErrAbortHandler)
		}
	}

	r := chi.NewRouter()
	r.Use(middleware.Recoverer)
	r.Route("/accounts/{account}", func(r chi.Router) {
		// Around one route, by With: the middleware of Use runs before chi has matched.
		r.With(own, s.Wrap(shop.Charges)).Post("/charges", pay)
		r.With(own, s.Wrap(shop.Refunds), middleware.Recoverer).Post("/refunds", pay)
		r.With(own, s.Wrap(shop.Exports)).Post("/exports", export)
		r.Method(http.MethodPost, "/orders", s.CreateOrder(shop.PathValue))
	})
	return r
}

// own gives a handler a routing context of its own. chi takes its contexts from
// a pool, and Wrap leaves a handler that outlives MaxExecution to itself.
func own(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		routed := chi.RouteContext(r.Context()).Clone()
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), chi.RouteCtxKey, routed)))
	})
}
