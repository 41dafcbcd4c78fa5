package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestRetry(t *testing.T) {
	shop := openShop(t, time.Now)
	h := routes(shop, time.Now)
	post := func(key, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodPost, "/orders", strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer north")
		r.Header.Set("Idempotency-Key", key)
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	first, again := post("k1", `{"item":"tea"}`), post("k1", ` {"item": "tea"} `)
	if first.Code != http.StatusCreated || again.Code != http.StatusCreated || first.Body.String() != again.Body.String() {
		t.Errorf("first %d %s, again %d %s", first.Code, first.Body, again.Code, again.Body)
	}
	if first.Header().Get("Idempotent-Replayed") != "" || again.Header().Get("Idempotent-Replayed") != "true" {
		t.Errorf("replayed: first %q, again %q", first.Header().Get("Idempotent-Replayed"), again.Header().Get("Idempotent-Replayed"))
	}
	if other := post("k1", `{"item":"coffee"}`); other.Code != http.StatusUnprocessableEntity {
		t.Errorf("another request under the key: %d %s", other.Code, other.Body)
	}
	if empty := post("k2", `{}`); empty.Code != http.StatusBadRequest {
		t.Errorf("no item: %d", empty.Code)
	}
	if mended := post("k2", `{"item":"tea"}`); mended.Code != http.StatusCreated {
		t.Errorf("the key did not stay free: %d %s", mended.Code, mended.Body)
	}
	if n := countOrders(t, shop); n != 2 {
		t.Errorf("%d orders, want 2", n)
	}
}
