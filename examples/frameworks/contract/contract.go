package contract

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"

	"github.com/refrain-dev/refrain/examples/frameworks/shop"
)

// Check runs the whole contract.
func Check(t *testing.T, f Framework) {
	t.Helper()
	for _, route := range []struct{ name, path, other, spelled string }{
		{"Wrap", "/accounts/a-b/charges", "/accounts/a-c/charges", "/accounts/a%2Db/charges"},
		{"Handle", "/accounts/a-b/orders", "/accounts/a-c/orders", "/accounts/a%2Db/orders"},
	} {
		t.Run(route.name, func(t *testing.T) {
			t.Parallel()
			for name, check := range map[string]func(s *server, path string){
				"replay": replay, "conflict": conflict, "key": key, "caller": caller,
				"tenants": tenants, "large request": largeRequest, "duplicates": duplicates,
			} {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					check(serve(t, f, receipt), route.path)
				})
			}
			t.Run("path value", func(t *testing.T) {
				t.Parallel()
				pathValue(serve(t, f, receipt), route.path, route.other, route.spelled)
			})
		})
	}
	for name, tt := range map[string]struct {
		check    func(s *server)
		provider payment
	}{
		"refusal":            {refusal, func(context.Context, string, string) (string, error) { return "", shop.ErrDeclined }},
		"error":              {failure, func(context.Context, string, string) (string, error) { return "", errors.New("boom") }},
		"panic, not caught":  {panics("/accounts/a-b/charges"), func(context.Context, string, string) (string, error) { panic("boom") }},
		"panic, caught":      {panics("/accounts/a-b/refunds"), func(context.Context, string, string) (string, error) { panic("boom") }},
		"large answer":       {largeAnswer, func(context.Context, string, string) (string, error) { return strings.Repeat("x", 2<<20), nil }},
		"stream":             {stream, receipt},
		"late":               {late, nil},
		"one key, two wraps": {operations, receipt},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.check(serve(t, f, tt.provider))
		})
	}
}

func replay(s *server, path string) {
	first := s.post(path, "k1", "tea")
	s.wantFirst(first, http.StatusCreated)
	s.wantReplay(s.post(path, "k1", "tea"), first)
	s.wantReplay(s.post(path, `"k1"`, "tea"), first)
	s.wantEffects("a-b", 1)
	second := s.post(path, "k2", "tea")
	s.wantFirst(second, http.StatusCreated)
	s.wantEffects("a-b", 2)
}

func conflict(s *server, path string) {
	first := s.post(path, "k1", "tea")
	s.wantProblem(s.post(path, "k1", "coffee"), 422, "key-reused")
	s.wantProblem(s.post(path+"?for=me", "k1", "tea"), 422, "key-reused")
	s.wantReplay(s.post(path, "k1", "tea"), first)
	s.wantEffects("a-b", 1)
}

// pathValue: the account is in the path alone, and one account must never get
// what another one's request was answered.
func pathValue(s *server, path, other, spelled string) {
	first := s.post(path, "k1", "tea")
	if !strings.Contains(first.body, "a-b") {
		s.t.Errorf("the handler did not find its account: %q", first.body)
	}
	s.wantProblem(s.post(other, "k1", "tea"), 422, "key-reused")
	s.wantEffects("a-c", 0)
	if again := s.post(spelled, "k1", "tea"); s.framework.Decodes {
		s.wantReplay(again, first)
	} else {
		s.wantProblem(again, 422, "key-reused")
	}
	s.wantReplay(s.post(path, "k1", "tea"), first)
	s.wantEffects("a-b", 1)
}

func key(s *server, path string) {
	s.wantProblem(s.post(path, "", "tea", "Idempotency-Key", ""), 400, "key-missing")
	s.wantProblem(s.post(path, "", "tea", "Idempotency-Key", "k1\nk2"), 400, "key-invalid")
	s.wantEffects("a-b", 0)
}

func caller(s *server, path string) {
	first := s.post(path, "k1", "tea")
	s.wantProblem(s.post(path, "k1", "tea", "Authorization", ""), 401, "principal-missing")
	s.wantReplay(s.post(path, "k1", "tea"), first)
	s.wantEffects("a-b", 1)
}

func tenants(s *server, path string) {
	s.wantFirst(s.post(path, "k1", "tea"), http.StatusCreated)
	s.wantFirst(s.post(path, "k1", "tea", "Authorization", "Bearer south"), http.StatusCreated)
	s.wantEffects("a-b", 2)
}

func largeRequest(s *server, path string) {
	s.wantProblem(s.post(path, "k1", strings.Repeat("x", 1<<20+1)), 413, "body-too-large")
	s.wantEffects("a-b", 0)
	body := strings.Repeat("x", 1<<20)
	first := s.post(path, "k1", body)
	s.wantFirst(first, http.StatusCreated)
	s.wantReplay(s.post(path, "k1", body), first)
	s.wantEffects("a-b", 1)
}

// duplicates that are all under way before the first one is answered.
func duplicates(s *server, path string) {
	const n = 16
	var arrived sync.WaitGroup
	arrived.Add(n)
	principal := s.Principal
	s.Principal = func(r *http.Request) (refrain.Scope, error) {
		arrived.Done()
		arrived.Wait()
		return principal(r)
	}
	s.url = s.framework.Serve(s.t, s.Shop)
	answers := make([]answer, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { answers[i] = s.post(path, "k1", "tea") })
	}
	all.Wait()
	replays := 0
	for _, got := range answers {
		if got.StatusCode != http.StatusCreated || got.body != answers[0].body {
			s.t.Errorf("answer = %d %q", got.StatusCode, got.body)
		}
		if got.Header.Get("Idempotent-Replayed") == "true" {
			replays++
		}
	}
	if replays != n-1 {
		s.t.Errorf("%d replays, want %d", replays, n-1)
	}
	s.wantEffects("a-b", 1)
}

// refusal is said in the framework's own way, and is an answer like any other.
func refusal(s *server) {
	first := s.post("/accounts/a-b/charges", "k1", "tea")
	s.wantFirst(first, http.StatusPaymentRequired)
	s.wantReplay(s.post("/accounts/a-b/charges", "k1", "tea"), first)
	s.wantEffects("a-b", 1)
}

// failure proves nothing about what the provider did.
func failure(s *server) {
	if first := s.post("/accounts/a-b/charges", "k1", "tea"); first.StatusCode < 500 || first.Header.Get("Idempotency-Status") != "" {
		s.t.Errorf("first = %d %v", first.StatusCode, first.Header)
	}
	s.wantProblem(s.post("/accounts/a-b/charges", "k1", "tea"), 409, "outcome-unknown")
	s.wantEffects("a-b", 1)
}

// panics are answered by the framework, around the guard or behind it.
func panics(path string) func(*server) {
	return func(s *server) {
		if first := s.post(path, "k1", "tea"); first.StatusCode != http.StatusInternalServerError || first.Header.Get("Idempotency-Status") != "" {
			s.t.Errorf("first = %d %v", first.StatusCode, first.Header)
		}
		s.wantProblem(s.post(path, "k1", "tea"), 409, "outcome-unknown")
		s.wantEffects("a-b", 1)
	}
}

func largeAnswer(s *server) {
	first := s.post("/accounts/a-b/charges", "k1", "tea")
	s.wantFirst(first, http.StatusCreated)
	if len(first.body) != 2<<20 {
		s.t.Errorf("%d bytes", len(first.body))
	}
	s.wantProblem(s.post("/accounts/a-b/charges", "k1", "tea"), 410, "result-gone")
	s.wantEffects("a-b", 1)
}

// stream: the second line is sent when the client has read the first one, if
// the framework lets it through. What has passed is not kept.
func stream(s *server) {
	read := make(chan struct{})
	s.Export = func(_ context.Context, account string, emit func(string) error) error {
		s.note(account)
		if err := emit("one of " + account + "\n"); err != nil {
			return err
		}
		if s.framework.Streams {
			<-read
		}
		return emit("two\n")
	}
	res := s.send("/accounts/a-b/exports", "k1", "")
	line := make([]byte, len("one of a-b\n"))
	_, err := io.ReadFull(res.Body, line)
	close(read)
	rest, restErr := io.ReadAll(res.Body)
	_ = res.Body.Close()
	first := answer{res, string(line) + string(rest)}
	if first.body != "one of a-b\ntwo\n" || err != nil || restErr != nil {
		s.t.Errorf("stream = %q, %v, %v", first.body, err, restErr)
	}
	s.wantFirst(first, http.StatusOK)
	if again := s.post("/accounts/a-b/exports", "k1", ""); s.framework.Streams {
		s.wantProblem(again, 410, "result-gone")
	} else {
		s.wantReplay(again, first)
	}
	s.wantEffects("a-b", 1)
}

// operations have their own keys.
func operations(s *server) {
	s.wantFirst(s.post("/accounts/a-b/charges", "k1", "tea"), http.StatusCreated)
	s.wantFirst(s.post("/accounts/a-b/refunds", "k1", "tea"), http.StatusCreated)
	s.wantEffects("a-b", 2)
}

// late: the client of a handler that does not return is answered without it,
// where the framework can send before it ends, and a retry does not run it again.
func late(s *server) {
	answered := make(chan struct{})
	s.MaxExecution = time.Second
	s.Pay = func(ctx context.Context, account, order string) (string, error) {
		s.note(account)
		<-ctx.Done()
		if s.framework.Streams {
			<-answered
		}
		return receipt(ctx, account, order)
	}
	first := s.post("/accounts/a-b/charges", "k1", "tea")
	close(answered)
	if s.framework.Streams {
		s.wantProblem(first, 409, "outcome-unknown")
	}
	s.wantEffects("a-b", 1)
	if again := s.post("/accounts/a-b/charges", "k1", "tea"); again.StatusCode == http.StatusCreated && again.Header.Get("Idempotent-Replayed") != "true" {
		s.t.Errorf("it ran again: %d %v", again.StatusCode, again.Header)
	}
	s.wantEffects("a-b", 1)
}
