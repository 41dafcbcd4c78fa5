package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
)

func TestRetry(t *testing.T) {
	shop, err := open(t.Context(), filepath.Join(t.TempDir(), "orders.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer shop.Close(context.Background())
	h := routes(shop)
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
	var orders int
	if err := shop.Reader().QueryRow(`SELECT count(*) FROM orders`).Scan(&orders); err != nil || orders != 2 {
		t.Errorf("%d orders, %v; want 2", orders, err)
	}
}
