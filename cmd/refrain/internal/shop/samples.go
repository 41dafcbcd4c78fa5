package shop

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Sample is a request to copy and paste and what it is answered, or a command
// to run between two of them.
type Sample struct {
	Shows   string            `json:"shows"`
	Method  string            `json:"method,omitempty"`
	URL     string            `json:"url,omitempty"` // REF is the ref of the answer before it
	Header  map[string]string `json:"header,omitempty"`
	Body    string            `json:"body,omitempty"`
	Status  int               `json:"status,omitempty"`
	Command string            `json:"command,omitempty"` // REF as in URL
}

// Samples shows the guarantee, of orders, of quotes, then of payments, to be sent
// in order to the shop at base. Each call uses fresh keys.
func Samples(base, database string) []Sample {
	return slices.Concat(orderSamples(base), quoteSamples(base, database), paymentSamples(base, database))
}

func orderSamples(base string) []Sample {
	key, refused := FreshKey(), FreshKey()
	order := func(shows, token, key, body string, status int) Sample {
		return post(shows, base+"/v1/orders", token, key, body, status)
	}
	return []Sample{
		order("create: an order", "demo-north", key, `{"sku":"BOOK-1","quantity":2}`, http.StatusCreated),
		order("replay: the same order again, spelt otherwise; the same answer, Idempotent-Replayed: true", "demo-north", key, `{"quantity":2.0,"sku":"BOOK-1"}`, http.StatusCreated),
		order("conflict: the same key for another order; nothing happens", "demo-north", key, `{"sku":"BOOK-1","quantity":3}`, http.StatusUnprocessableEntity),
		order("another tenant: the same key is another action, and another order", "demo-south", key, `{"sku":"BOOK-1","quantity":2}`, http.StatusCreated),
		order("refusal: recorded, so a repeat is refused the same way", "demo-north", refused, `{"sku":"`+soldOut+`","quantity":1}`, http.StatusConflict),
		ask("ask by key: what became of the first request, without sending it again", base, orderOperation, key),
	}
}

// quoteSamples is the story of a handler that commits for itself and then fails.
func quoteSamples(base, database string) []Sample {
	key, lost := FreshKey(), FreshKey()
	quote := func(shows, key, body string, status int) Sample {
		return post(shows, base+"/v1/quotes", "demo-north", key, body, status)
	}
	const plain, failing = `{"text":"Less is more"}`, `{"text":"Nothing is certain","fail":"after"}`
	return []Sample{
		quote("quote: by a handler that commits for itself, wrapped", key, plain, http.StatusCreated),
		quote("replay: of the quote", key, plain, http.StatusCreated),
		quote("failure: the quote is committed, then its handler fails", lost, failing, http.StatusInternalServerError),
		quote("unknown: the retry runs nothing; the answer has the ref of the action", lost, failing, http.StatusConflict),
		ask("ask by key: the state is unknown", base, quoteOperation, lost),
		{Shows: "the way out: a person looks at GET /v1/quotes, finds the ref of the answers above, and decides", Command: verdict{happened: true, reason: quoteFound}.command("REF", database)},
		quote("resolved: the next retry gets what the person recorded", lost, failing, http.StatusCreated),
		ask("ask by key: the state is confirmed", base, quoteOperation, lost),
	}
}

func post(shows, url, token, key, body string, status int) Sample {
	return Sample{Shows: shows, Method: http.MethodPost, URL: url, Header: map[string]string{
		"Authorization": "Bearer " + token, "Content-Type": "application/json", "Idempotency-Key": key,
	}, Body: body, Status: status}
}

func ask(shows, base, operation, key string) Sample {
	return Sample{Shows: shows, Method: http.MethodGet, URL: base + statusPath + "?operation=" + operation, Header: map[string]string{
		"Authorization": "Bearer demo-north", "Idempotency-Key": key,
	}, Status: http.StatusOK}
}

// Line is the sample as a command line for a POSIX shell.
func (s Sample) Line() string {
	if s.Command != "" {
		return s.Command
	}
	var b strings.Builder
	fmt.Fprintf(&b, "curl -i '%s'", s.URL)
	for _, name := range [...]string{"Authorization", "Idempotency-Key", "Prefer", "Content-Type"} {
		if value := s.Header[name]; value != "" {
			fmt.Fprintf(&b, " -H '%s: %s'", name, value)
		}
	}
	if s.Body != "" {
		fmt.Fprintf(&b, " -d '%s'", s.Body)
	}
	return b.String()
}
