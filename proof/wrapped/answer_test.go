//go:build unix

package wrapped

import (
	"context"
	"flag"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	if Serve() {
		return
	}
	flag.Parse()
	if err := flag.Set("test.parallel", "12"); err != nil { // they wait for leases, not for a processor
		panic(err)
	}
	os.Exit(m.Run())
}

// answer is what a client got; err says that it got none.
type answer struct {
	status int
	header http.Header
	body   string
	err    error
}

func (a answer) problem() string { return a.header.Get("Idempotency-Status") }

func (a answer) replayed() bool { return a.header.Get("Idempotent-Replayed") == "true" }

const key = "0198c6b2-7c1e-7000-8000-3f1d8f9a2b11-charge" // no time of its own

func post(url string) answer {
	r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, url, strings.NewReader(`{"amount":2}`))
	if err != nil {
		return answer{header: http.Header{}, err: err}
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header["Idempotency-Key"] = []string{key}
	r.GetBody = nil // the transport must not send it again by itself
	transport := &http.Transport{DisableKeepAlives: true}
	defer transport.CloseIdleConnections()
	res, err := transport.RoundTrip(r)
	if err != nil {
		return answer{header: http.Header{}, err: err}
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return answer{res.StatusCode, res.Header, string(body), err}
}

// ask is post as a client does it: a server so busy that nothing was executed is
// asked again.
func ask(t testing.TB, url string) answer {
	t.Helper()
	for begun := time.Now(); ; {
		a := post(url)
		if a.problem() != "store-unavailable" {
			return a
		}
		if waited := time.Since(begun); waited > time.Minute {
			t.Fatalf("the store is unavailable after %v", waited)
		}
	}
}

// settle asks until somebody knows. No key is in progress longer than a lease once
// its owner is gone, and the last of those answers may itself have been long on
// its way.
func settle(t testing.TB, url string) answer {
	t.Helper()
	for begun := time.Now(); ; {
		asked := time.Now()
		a := ask(t, url)
		if a.problem() != "in-progress" {
			return a
		}
		if waited := asked.Sub(begun); waited > Lease+3*time.Second {
			t.Fatalf("in progress after %v", waited)
		}
	}
}

func wantProblem(t testing.TB, a answer, status int, problem string) {
	t.Helper()
	if a.err != nil || a.status != status || a.problem() != problem {
		t.Errorf("answer = %d %q %q %v, want %d %s", a.status, a.problem(), a.body, a.err, status, problem)
	}
}

// wantCharge is a success, its first answer or a replay.
func wantCharge(t testing.TB, a answer, charge string, replayed bool) {
	t.Helper()
	if a.err != nil || a.status != 201 || a.body != "charge "+charge || a.replayed() != replayed || a.problem() != "" {
		t.Errorf("answer = %d %q %q (replayed %t) %v, want charge %s, replayed %t", a.status, a.problem(), a.body, a.replayed(), a.err, charge, replayed)
	}
}

// effects are the lines, one an effect: ref, attempt and fence.
func effects(t testing.TB, s Setting) []string {
	t.Helper()
	text, err := os.ReadFile(s.Effects)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.Fields(strings.ReplaceAll(string(text), " ", ","))
}

func wantEffects(t testing.TB, s Setting, n int) {
	t.Helper()
	if got := effects(t, s); len(got) != n {
		t.Errorf("effects = %q, want %d", got, n)
	}
}
