package refrainhttp_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestForeignPatterns: other routers leave patterns of their own in the request,
// and values ServeMux would not have. What such a pattern leaves open of the
// path still tells two requests apart.
func TestForeignPatterns(t *testing.T) {
	t.Parallel()
	for name, mark := range map[string]func(r *http.Request, id string){
		"colon":          func(r *http.Request, id string) { r.Pattern = "/orders/:id" },
		"colon, value":   func(r *http.Request, id string) { r.Pattern = "/orders/:id"; r.SetPathValue("id", id) },
		"star":           func(r *http.Request, id string) { r.Pattern = "/orders/*" },
		"star, value":    func(r *http.Request, id string) { r.Pattern = "/orders/*"; r.SetPathValue("*", id) },
		"expression":     func(r *http.Request, id string) { r.Pattern = "/orders/{id:[0-9]+}"; r.SetPathValue("id", id) },
		"braces inside":  func(r *http.Request, id string) { r.Pattern = "/orders/{id:[0-9]{1}}"; r.SetPathValue("id", id) },
		"no value":       func(r *http.Request, id string) { r.Pattern = "/orders/{id}" },
		"prefix":         func(r *http.Request, id string) { r.Pattern = "/orders" },
		"with a host":    func(r *http.Request, id string) { r.Pattern = "shop.example/orders/:id" },
		"understood":     func(r *http.Request, id string) { r.Pattern = "/orders/{id}"; r.SetPathValue("id", id) },
		"no path at all": func(r *http.Request, id string) { r.Pattern = "orders" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := wrap(t, guard, orders, charge)
			post := func(id string) *http.Response {
				r := httptest.NewRequest(http.MethodPost, "/orders/"+id, strings.NewReader(smallOrder))
				r.Header.Set("Idempotency-Key", secretKey)
				r.Header.Set("Content-Type", "application/json")
				mark(r, id)
				return s.do(r)
			}
			post("1")
			wantProblem(t, post("2"), 422, "key-reused")
			wantReplay(t, post("1"), 201, "charged")
			s.wantRuns(1)
		})
	}
}
