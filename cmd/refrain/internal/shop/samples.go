package shop

import (
	"fmt"
	"net/http"
	"strings"
)

// Sample is a request to copy and paste, and what it is answered.
type Sample struct {
	Shows  string            `json:"shows"`
	Method string            `json:"method"`
	URL    string            `json:"url"`
	Header map[string]string `json:"header"`
	Body   string            `json:"body,omitempty"`
	Status int               `json:"status"`
}

// Samples shows the guarantee in six requests, to be sent in order to the shop
// at base. Each call uses fresh keys.
func Samples(base string) []Sample {
	key, refused := FreshKey(), FreshKey()
	post := func(shows, token, key, body string, status int) Sample {
		return Sample{shows, http.MethodPost, base + "/v1/orders", map[string]string{
			"Authorization": "Bearer " + token, "Content-Type": "application/json", "Idempotency-Key": key,
		}, body, status}
	}
	return []Sample{
		post("create: an order", "demo-north", key, `{"sku":"BOOK-1","quantity":2}`, http.StatusCreated),
		post("replay: the same order again, spelt otherwise; the same answer, Idempotent-Replayed: true", "demo-north", key, `{"quantity":2.0,"sku":"BOOK-1"}`, http.StatusCreated),
		post("conflict: the same key for another order; nothing happens", "demo-north", key, `{"sku":"BOOK-1","quantity":3}`, http.StatusUnprocessableEntity),
		post("another tenant: the same key is another action, and another order", "demo-south", key, `{"sku":"BOOK-1","quantity":2}`, http.StatusCreated),
		post("refusal: recorded, so a repeat is refused the same way", "demo-north", refused, `{"sku":"`+soldOut+`","quantity":1}`, http.StatusConflict),
		{"ask by key: what became of the first request, without sending it again", http.MethodGet, base + statusPath + "?operation=" + operation, map[string]string{
			"Authorization": "Bearer demo-north", "Idempotency-Key": key,
		}, "", http.StatusOK},
	}
}

// Curl is the sample as a command line for a POSIX shell.
func (s Sample) Curl() string {
	var b strings.Builder
	fmt.Fprintf(&b, "curl -i '%s'", s.URL)
	for _, name := range [...]string{"Authorization", "Idempotency-Key", "Content-Type"} {
		if value := s.Header[name]; value != "" {
			fmt.Fprintf(&b, " -H '%s: %s'", name, value)
		}
	}
	if s.Body != "" {
		fmt.Fprintf(&b, " -d '%s'", s.Body)
	}
	return b.String()
}
