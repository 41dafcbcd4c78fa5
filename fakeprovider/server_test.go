package fakeprovider_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/refrain-dev/refrain/fakeprovider"
)

func start(t *testing.T, change func(*fakeprovider.Switches)) *fakeprovider.Server {
	t.Helper()
	s := fakeprovider.New()
	if change != nil {
		set(t, s, change)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func set(t *testing.T, s *fakeprovider.Server, change func(*fakeprovider.Switches)) {
	t.Helper()
	if err := s.Set(change); err != nil {
		t.Fatal(err)
	}
}

type got struct {
	status   int
	replayed bool
	body     string
	err      error
}

// pay sends one charge over a connection of its own, so that nothing is sent twice
// by the client.
func pay(ctx context.Context, t *testing.T, s *fakeprovider.Server, key, account, token string) got {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL()+"/charges", strings.NewReader(`{"account":"`+account+`","amount":500,"currency":"EUR"}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Idempotency-Key", key)
	r.Header.Set("Authorization", "Bearer "+token)
	return send(r)
}

func send(r *http.Request) got {
	r.GetBody = nil
	transport := &http.Transport{DisableKeepAlives: true}
	response, err := transport.RoundTrip(r)
	if err != nil {
		return got{err: err}
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return got{response.StatusCode, response.Header.Get("Idempotent-Replayed") == "true", string(body), err}
}

func get(t *testing.T, s *fakeprovider.Server, path string) got {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	return send(r)
}

// await polls for what the provider knows of the key k.
func await(t *testing.T, s *fakeprovider.Server, state fakeprovider.State) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); s.Report("k").State != state; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("the key is %s, want %s", s.Report("k").State, state)
		}
	}
}

func TestChargeIsReplayed(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	first := pay(t.Context(), t, s, "k", "anna", "")
	again := pay(t.Context(), t, s, "k", "anna", "")
	if first.status != 201 || first.replayed || again.status != 201 || !again.replayed || first.body != again.body {
		t.Errorf("first %+v, again %+v", first, again)
	}
	if other := pay(t.Context(), t, s, "k", "bert", ""); other.status != 422 {
		t.Errorf("another payload: %+v", other)
	}
	if declined := pay(t.Context(), t, s, "d", "declined-carl", ""); declined.status != 402 {
		t.Errorf("declined: %+v", declined)
	}
	if declined := pay(t.Context(), t, s, "d", "declined-carl", ""); declined.status != 402 || !declined.replayed {
		t.Errorf("declined again: %+v", declined)
	}
	if bad := pay(t.Context(), t, s, "b", "", ""); bad.status != 400 {
		t.Errorf("invalid: %+v", bad)
	}
	if len(s.Charges()) != 1 || s.Requests() != 6 {
		t.Errorf("%d charges of %d requests, want 1 of 6", len(s.Charges()), s.Requests())
	}
}

// TestWindow: after it a repeat is a new charge; without one every repeat is.
func TestWindow(t *testing.T) {
	t.Parallel()
	for _, window := range []time.Duration{0, time.Hour} {
		s := fakeprovider.New()
		now := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
		s.Now = func() time.Time { return now }
		set(t, s, func(w *fakeprovider.Switches) { w.Window = window })
		if err := s.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		pay(t.Context(), t, s, "k", "anna", "")
		now = now.Add(time.Hour - time.Nanosecond)
		pay(t.Context(), t, s, "k", "anna", "")
		within := len(s.Report("k").Charges)
		now = now.Add(time.Nanosecond)
		pay(t.Context(), t, s, "k", "anna", "")
		after := len(s.Report("k").Charges)
		if want := map[time.Duration][2]int{0: {2, 3}, time.Hour: {1, 2}}[window]; [2]int{within, after} != want {
			t.Errorf("window %v: %d charges within, %d after; want %v", window, within, after, want)
		}
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	tests := []struct {
		fault   fakeprovider.Fault
		status  int // 0: no whole answer
		charges int
	}{
		{fakeprovider.LoseAnswer, 0, 1},
		{fakeprovider.CutAnswer, 0, 1},
		{fakeprovider.FailBefore, 500, 0},
		{fakeprovider.FailAfter, 500, 1},
	}
	for _, tt := range tests {
		s := start(t, func(w *fakeprovider.Switches) { w.Fault, w.Times = tt.fault, 1 })
		first := pay(t.Context(), t, s, "k", "anna", "")
		if (first.err == nil) != (tt.status != 0) || first.err == nil && first.status != tt.status || len(s.Charges()) != tt.charges {
			t.Errorf("%s: %+v, %d charges", tt.fault, first, len(s.Charges()))
		}
		if again := pay(t.Context(), t, s, "k", "anna", ""); again.status != 201 || again.replayed != (tt.charges > 0) || len(s.Charges()) != 1 {
			t.Errorf("%s, repeated: %+v, %d charges", tt.fault, again, len(s.Charges()))
		}
	}
}

// TestSlow: while a key is in use a repeat is a conflict, and a client that hangs
// up stops the waiting but not the charge.
func TestSlow(t *testing.T) {
	t.Parallel()
	s := start(t, func(w *fakeprovider.Switches) { w.Delay = fakeprovider.MaxDelay })
	ctx, hangUp := context.WithCancel(t.Context())
	gone := make(chan got)
	go func() { gone <- pay(ctx, t, s, "k", "anna", "") }()
	await(t, s, fakeprovider.Pending)
	if busy := pay(t.Context(), t, s, "k", "anna", ""); busy.status != 409 {
		t.Errorf("in use: %+v", busy)
	}
	hangUp()
	if first := <-gone; first.err == nil {
		t.Errorf("first: %+v", first)
	}
	await(t, s, fakeprovider.Charged)
}

// TestClose ends what waits, which then charges nobody.
func TestClose(t *testing.T) {
	t.Parallel()
	s := start(t, func(w *fakeprovider.Switches) { w.Delay = fakeprovider.MaxDelay })
	gone := make(chan got)
	go func() { gone <- pay(context.WithoutCancel(t.Context()), t, s, "k", "anna", "") }()
	await(t, s, fakeprovider.Pending)
	s.Close()
	if first := <-gone; first.err == nil {
		t.Errorf("first: %+v", first)
	}
	if s.Start() == nil {
		t.Error("a closed provider started")
	}
	if n := len(s.Charges()); n != 0 {
		t.Errorf("%d charges after Close", n)
	}
}

func TestQueryAndCredential(t *testing.T) {
	t.Parallel()
	s := start(t, func(w *fakeprovider.Switches) { w.APIKey = "new" })
	if old := pay(t.Context(), t, s, "k", "anna", "old"); old.status != 401 || len(s.Charges()) != 0 {
		t.Errorf("old credential: %+v", old)
	}
	if asked := get(t, s, "/charges?key=k"); asked.status != 401 {
		t.Errorf("asked without credential: %+v", asked)
	}
	if now := pay(t.Context(), t, s, "k", "anna", "new"); now.status != 201 {
		t.Errorf("new credential: %+v", now)
	}
	set(t, s, func(w *fakeprovider.Switches) { w.APIKey = "" })
	for key, want := range map[string]fakeprovider.State{"k": fakeprovider.Charged, "other": fakeprovider.NotFound} {
		var report fakeprovider.Report
		asked := get(t, s, "/charges?key="+key)
		if err := json.Unmarshal([]byte(asked.body), &report); err != nil || report.State != want {
			t.Errorf("%s: %+v", key, asked)
		}
	}
	set(t, s, func(w *fakeprovider.Switches) { w.Query = false })
	if off := get(t, s, "/charges?key=k"); off.status != 404 {
		t.Errorf("query off: %+v", off)
	}
	if all := get(t, s, "/charges"); all.status != 200 || strings.Count(all.body, `"id"`) != 1 {
		t.Errorf("all: %+v", all)
	}
}

// TestControl over HTTP changes what it names, all or nothing.
func TestControl(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	control := func(body string) got {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL()+"/control", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		return send(r)
	}
	want := `{"delay":"0s","fault":"fail-before","times":2,"window":"24h0m0s","query":false}` + "\n"
	if set := control(`{"fault":"fail-before","times":2,"query":false,"apiKey":"secret"}`); set.status != 200 || set.body != want {
		t.Errorf("%+v", set)
	}
	for _, bad := range []string{`{"delay":"1s","window":"?"}`, `{"fault":"moody"}`, `{"delay":"2h"}`, `{"dalay":"1s"}`, `[`} {
		if refused := control(bad); refused.status != 400 {
			t.Errorf("%s: %+v", bad, refused)
		}
	}
	if now := get(t, s, "/control"); now.body != want {
		t.Errorf("after refused changes: %+v", now)
	}
}
