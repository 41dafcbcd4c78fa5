package main

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/go-chi/chi/v5"
)

// TestOwn: a handler that is left to itself still finds its own account when
// chi has used its context for others.
func TestOwn(t *testing.T) {
	t.Parallel()
	begun, end, found := make(chan struct{}), make(chan struct{}), make(chan string)
	abandoning := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			go next.ServeHTTP(w, r)
			<-begun
		})
	}
	r := chi.NewRouter()
	r.With(own, abandoning).Post("/slow/{account}", func(_ http.ResponseWriter, r *http.Request) {
		close(begun)
		<-end
		found <- chi.URLParam(r, "account")
	})
	r.Post("/fast/{account}", func(http.ResponseWriter, *http.Request) {})
	r.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/slow/mine", nil))
	for range 100 {
		r.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/fast/theirs", nil))
	}
	close(end)
	if account := <-found; account != "mine" {
		t.Errorf("account = %q", account)
	}
}
