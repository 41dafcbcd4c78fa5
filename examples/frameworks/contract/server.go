// Package contract is what a client may expect of the shop, whatever framework
// stands in front of it.
package contract

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/refrain-dev/refrain/examples/frameworks/shop"
)

// Framework is one way to serve the shop.
type Framework struct {
	// Serve returns the URL of a server that ends with the test.
	Serve func(t *testing.T, s *shop.Shop) string
	// Streams: what a handler flushes reaches its client while it runs.
	Streams bool
	// Decodes: the guard knows the route and its decoded values, so that two
	// spellings of one path are one request.
	Decodes bool
}

// Handler serves an ordinary handler.
func Handler(routes func(*shop.Shop) http.Handler) func(*testing.T, *shop.Shop) string {
	return func(t *testing.T, s *shop.Shop) string {
		server := httptest.NewServer(routes(s))
		t.Cleanup(server.Close)
		return server.URL
	}
}

// server is a shop with a provider of the test's own, which counts what it was
// asked where neither the shop nor Refrain sees it.
type server struct {
	*shop.Shop
	t         *testing.T
	framework Framework
	url       string

	mu   sync.Mutex
	paid map[string]int // by account
}

type payment = func(ctx context.Context, account, order string) (string, error)

func serve(t *testing.T, f Framework, provider payment) *server {
	t.Helper()
	db, err := shop.Open(t.Context(), filepath.Join(t.TempDir(), "shop.db"))
	if err != nil {
		t.Fatal(err)
	}
	s := &server{Shop: db, t: t, framework: f, paid: make(map[string]int)}
	t.Cleanup(func() { _ = db.DB.Close(context.Background()) })
	s.Pay = func(ctx context.Context, account, order string) (string, error) {
		s.note(account)
		return provider(ctx, account, order)
	}
	return s
}

func (s *server) note(account string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paid[account]++
}

func receipt(_ context.Context, account, order string) (string, error) {
	return fmt.Sprintf("%s paid for %s", account, short(order)), nil
}

// answer is a response that was read to its end.
type answer struct {
	*http.Response
	body string
}

func (s *server) post(path, key, body string, fields ...string) answer {
	s.t.Helper()
	res := s.send(path, key, body, fields...)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Errorf("POST %s: %v", path, err)
	}
	return answer{res, string(text)}
}

// send leaves the answer's body to be read. Fields replace the usual ones; an
// empty value removes one.
func (s *server) send(path, key, body string, fields ...string) *http.Response {
	s.t.Helper()
	if s.url == "" {
		s.url = s.framework.Serve(s.t, s.Shop)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	s.t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header = http.Header{"Authorization": {"Bearer north"}, "Content-Type": {"text/plain"}, "Idempotency-Key": {key}}
	for i := 0; i < len(fields); i += 2 {
		r.Header[fields[i]] = strings.Split(fields[i+1], "\n")
		if fields[i+1] == "" {
			delete(r.Header, fields[i])
		}
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	return res
}

// effects is how often something was done for the account.
func (s *server) effects(account string) int {
	s.t.Helper()
	var orders int
	if err := s.DB.Reader().QueryRow(`SELECT count(*) FROM orders WHERE account = ?`, account).Scan(&orders); err != nil {
		s.t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return orders + s.paid[account]
}

func (s *server) wantEffects(account string, want int) {
	s.t.Helper()
	if got := s.effects(account); got != want {
		s.t.Errorf("%d effects for account %s, want %d", got, account, want)
	}
}

func (s *server) wantFirst(got answer, status int) {
	s.t.Helper()
	if got.StatusCode != status || got.Header.Get("Idempotent-Replayed") != "" || got.Header.Get("Idempotency-Status") != "" {
		s.t.Errorf("first answer = %d %v %q, want %d", got.StatusCode, got.Header, short(got.body), status)
	}
}

func (s *server) wantReplay(got, first answer) {
	s.t.Helper()
	switch {
	case got.StatusCode != first.StatusCode || got.body != first.body || got.Header.Get("Idempotent-Replayed") != "true":
		s.t.Errorf("replay = %d %v %q, want %d %q", got.StatusCode, got.Header, short(got.body), first.StatusCode, short(first.body))
	case first.Header.Get("Idempotency-Ref") == "" || got.Header.Get("Idempotency-Ref") != first.Header.Get("Idempotency-Ref"):
		s.t.Errorf("refs: first %q, replay %q", first.Header.Get("Idempotency-Ref"), got.Header.Get("Idempotency-Ref"))
	case got.Header.Get("Content-Type") != first.Header.Get("Content-Type"):
		s.t.Errorf("media types: first %q, replay %q", first.Header.Get("Content-Type"), got.Header.Get("Content-Type"))
	}
}

func (s *server) wantProblem(got answer, status int, problem string) {
	s.t.Helper()
	if got.StatusCode != status || got.Header.Get("Idempotency-Status") != problem ||
		got.Header.Get("Content-Type") != "application/problem+json" {
		s.t.Errorf("answer = %d %v %q, want %d %s", got.StatusCode, got.Header, short(got.body), status, problem)
	}
}

func short(s string) string { return s[:min(len(s), 200)] }
