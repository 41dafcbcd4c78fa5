package shop

import (
	"fmt"
	"net/http"
	"testing"
)

func TestListIsNewestFirstAndTheTenantsOwn(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	type list struct {
		Count  int
		Orders []order
	}
	if got := s.get(t, north, "/v1/orders"); got.Body.String() != "{\"count\":0,\"orders\":[]}\n" {
		t.Errorf("an empty list is %s", got.Body)
	}
	for i := 1; i <= 3; i++ {
		wantStatus(t, s.order(t, north, fmt.Sprint("k", i), fmt.Sprintf(`{"sku":"A","quantity":%d}`, i)), http.StatusCreated)
	}
	wantStatus(t, s.order(t, south, "k1", `{"sku":"B","quantity":9}`), http.StatusCreated)
	all := decode[list](t, s.get(t, north, "/v1/orders"), http.StatusOK)
	if all.Count != 3 || len(all.Orders) != 3 || all.Orders[0].Quantity != 3 || all.Orders[2].Quantity != 1 {
		t.Errorf("listed %+v", all)
	}
	if newest := decode[list](t, s.get(t, north, "/v1/orders?limit=1"), http.StatusOK); newest.Count != 3 || len(newest.Orders) != 1 || newest.Orders[0].Quantity != 3 {
		t.Errorf("limited to one: %+v", newest)
	}
	for _, limit := range []string{"0", "-1", "1001", "x"} {
		wantProblem(t, s.get(t, north, "/v1/orders?limit="+limit), http.StatusBadRequest, "invalid-limit")
	}
}

func TestPrincipal(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for _, authorization := range []string{"", "Bearer", "Bearer demo-east", "Bearer demo-north2", "Basic demo-north", "demo-north"} {
		for _, q := range []request{
			{method: "POST", target: "/v1/orders", key: "k", media: "application/json", body: `{"sku":"A","quantity":1}`},
			{method: "GET", target: "/v1/orders"},
			{method: "GET", target: "/v1/orders/ord_x"},
			{method: "POST", target: "/v1/quotes", key: "k", media: "application/json", body: `{"text":"A"}`},
			{method: "GET", target: "/v1/quotes"},
			{method: "GET", target: "/v1/quotes/qt_x"},
			{method: "POST", target: "/v1/payments", key: "k", media: "application/json", body: annas},
			{method: "GET", target: "/v1/payments"},
			{method: "GET", target: "/v1/payments/pay_x"},
			{method: "GET", target: "/v1/operations?operation=orders.create", key: "k"},
			{method: "GET", target: "/v1/operations/op_x"},
		} {
			q.token = authorization
			w := s.answers(t, q)
			name := "unauthenticated" // the shop's own
			if q.target == "/v1/operations?operation=orders.create" || q.target == "/v1/operations/op_x" || (q.target == "/v1/orders" || q.target == "/v1/payments") && q.method == "POST" {
				name = "principal-missing" // the guard's
			}
			wantProblem(t, w, http.StatusUnauthorized, name)
			if got := w.Header().Get("WWW-Authenticate"); got != challenge {
				t.Errorf("%s %s with %q: challenge %q", q.method, q.target, authorization, got)
			}
		}
	}
	r := request{method: "GET", target: "/v1/orders", token: "bearer demo-south"}
	wantStatus(t, s.answers(t, r), http.StatusOK)
}

func TestStatusByRefAndByKey(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	type status struct {
		Ref       string `json:"ref"`
		Operation string `json:"operation"`
		State     string `json:"state"`
		Created   string `json:"created_at"`
		Replay    string `json:"replay_until"`
		Remember  string `json:"remember_until"`
		Effect    string `json:"effect"`
	}
	made := s.order(t, north, "k-status", `{"sku":"A","quantity":1}`)
	ref := made.Header().Get("Idempotency-Ref")
	byRef := decode[status](t, s.get(t, north, "/v1/operations/"+ref), http.StatusOK)
	if byRef.Ref != ref || byRef.Operation != "orders.create" || byRef.State != "confirmed" || byRef.Effect != made.Header().Get("Location") ||
		byRef.Created == "" || byRef.Replay == "" || byRef.Remember == "" {
		t.Errorf("by ref %+v", byRef)
	}
	ask := request{method: "GET", target: "/v1/operations?operation=orders.create", token: "Bearer " + north, key: "k-status"}
	if byKey := decode[status](t, s.answers(t, ask), http.StatusOK); byKey != byRef {
		t.Errorf("by key %+v, by ref %+v", byKey, byRef)
	}
	ask.token = "Bearer " + south
	wantProblem(t, s.answers(t, ask), http.StatusNotFound, "not-found")
	wantProblem(t, s.get(t, south, "/v1/operations/"+ref), http.StatusNotFound, "not-found")

	s.order(t, north, "k-refused", `{"sku":"SOLD-OUT","quantity":1}`)
	ask = request{method: "GET", target: "/v1/operations?operation=orders.create", token: "Bearer " + north, key: "k-refused"}
	if refused := decode[status](t, s.answers(t, ask), http.StatusOK); refused.State != "rejected" {
		t.Errorf("the refusal is %+v", refused)
	}
}
