package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/refrain-dev/refrain/cmd/refrain/internal/enginetest"
)

// demoOf is a demo in a process of its own.
type demoOf struct {
	t   *testing.T
	cmd *exec.Cmd
	url string
}

func startDemo(t *testing.T, args ...string) *demoOf {
	t.Helper()
	d := &demoOf{t: t, cmd: exec.Command("refrain", append([]string{"demo", "--listen", "127.0.0.1:0"}, args...)...)}
	stdout, err := d.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.cmd.Process.Kill(); _ = d.cmd.Wait() })
	first, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("the demo printed %q: %v", first, err)
	}
	go io.Copy(io.Discard, stdout)
	d.url = strings.TrimSuffix(strings.TrimPrefix(first, "listening on "), "\n")
	return d
}

// answered is what a demo answered, or why it did not.
type answered struct {
	status int
	header http.Header
	body   string
	err    error
}

func (d *demoOf) send(method, target, key, body string) answered {
	r, err := http.NewRequest(method, d.url+target, strings.NewReader(body))
	if err != nil {
		return answered{err: err}
	}
	r.Header = http.Header{"Authorization": {"Bearer demo-north"}, "Content-Type": {"application/json"}, "Idempotency-Key": {key}}
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return answered{err: err}
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return answered{answer.StatusCode, answer.Header, string(text), err}
}

func (d *demoOf) quote(key, body string) answered { return d.send("POST", "/v1/quotes", key, body) }

// begin sends a quote and returns when another process of the database sees it under way.
func (d *demoOf) begin(seenBy *demoOf, key, body string) <-chan answered {
	d.t.Helper()
	answer := make(chan answered, 1)
	go func() { answer <- d.quote(key, body) }()
	seenBy.reaches(key, "submitted")
	return answer
}

// reaches asks by key until the state is this.
func (d *demoOf) reaches(key, state string) {
	d.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); {
		var doc struct{ State string }
		a := d.send("GET", "/v1/operations?operation=quotes.create", key, "")
		if a.err != nil {
			d.t.Fatal(a.err)
		}
		if json.Unmarshal([]byte(a.body), &doc) == nil && doc.State == state {
			return
		}
	}
	d.t.Fatalf("the state never was %s", state)
}

// TestTerminatedWithAQuoteUnderWay: the demo takes no new request, answers the
// one under way, and what it answered is remembered.
func TestTerminatedWithAQuoteUnderWay(t *testing.T) {
	enginetest.Each(t, enginetest.Engines, terminated)
}

func terminated(t *testing.T, db string) {
	d := startDemo(t, "--db", db)
	const body = `{"text":"A","delay_ms":1500}`
	first := d.begin(d, "q", body)
	if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for { // until the address refuses: the end has begun
		conn, err := net.Dial("tcp", strings.TrimPrefix(d.url, "http://"))
		if err != nil {
			break
		}
		conn.Close()
	}
	select {
	case a := <-first:
		t.Fatalf("answered %+v before the end had begun; nothing was under way", a)
	default:
	}
	a := <-first
	if a.err != nil || a.status != http.StatusCreated {
		t.Errorf("the request under way got %+v", a)
	}
	if err := d.cmd.Wait(); err != nil {
		t.Errorf("the demo ended with %v", err)
	}
	next := startDemo(t, "--db", db)
	if again := next.quote("q", body); again.status != http.StatusCreated || again.body != a.body || again.header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("the next process answered %+v", again)
	}
}

// TestQuotesOfTwoProcesses: a duplicate in the other process waits and is told
// that the first is in progress, while the database can be written; once the first
// process is dead and its lease past, that the outcome is unknown.
func TestQuotesOfTwoProcesses(t *testing.T) { enginetest.Each(t, enginetest.Engines, quotesOfTwo) }

func quotesOfTwo(t *testing.T, db string) {
	const wait = 3 * time.Second // longer than a busy machine takes for three orders
	args := []string{"--db", db, "--lease", "1s", "--wait", wait.String()}
	one, other := startDemo(t, args...), startDemo(t, args...)
	const body = `{"text":"A","fail":"hang"}`
	first := one.begin(other, "q", body)

	duplicate := make(chan answered, 1)
	began := time.Now()
	go func() { duplicate <- other.quote("q", body) }()
	orders := 0
	var told answered
	for told.status == 0 {
		if a := other.send("POST", "/v1/orders", fmt.Sprint("o", orders), `{"sku":"A","quantity":1}`); a.status != http.StatusCreated {
			t.Fatalf("an order meanwhile got %+v", a)
		}
		select {
		case told = <-duplicate:
		default:
			orders++
		}
	}
	if told.status != http.StatusConflict || told.header.Get("Idempotency-Status") != "in-progress" || told.header.Get("Retry-After") == "" {
		t.Errorf("the duplicate got %+v", told)
	}
	if took := time.Since(began); took < wait || orders < 3 {
		t.Errorf("it waited %v; %d orders were made meanwhile", took, orders)
	}

	if err := one.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if a := <-first; a.err == nil {
		t.Errorf("a killed process answered %+v", a)
	}
	for told.header.Get("Idempotency-Status") == "in-progress" { // until the lease is past
		told = other.quote("q", body)
	}
	if told.status != http.StatusConflict || told.header.Get("Idempotency-Status") != "outcome-unknown" {
		t.Errorf("after the lease the retry got %+v", told)
	}
	other.reaches("q", "unknown")
}

// TestDuplicatesOfTwoProcesses: however many times an order is sent, to whichever
// of two processes, there is one.
func TestDuplicatesOfTwoProcesses(t *testing.T) {
	enginetest.Each(t, enginetest.Engines, duplicatesOfTwo)
}

func duplicatesOfTwo(t *testing.T, db string) {
	const rounds, duplicates = 20, 50
	args := []string{"--db", db, "--wait", "30s"}
	processes := []*demoOf{startDemo(t, args...), startDemo(t, args...)}
	for round := range rounds {
		key, body := fmt.Sprint("intent-", round), fmt.Sprintf(`{"sku":"A","quantity":%d}`, round+1)
		var answers [duplicates]answered
		gate := make(chan struct{})
		var all sync.WaitGroup
		for i := range answers {
			all.Go(func() {
				<-gate
				answers[i] = processes[i%2].send("POST", "/v1/orders", key, body)
			})
		}
		close(gate)
		all.Wait()
		first, fresh := processes[0].send("POST", "/v1/orders", key, body), 0
		for _, a := range answers {
			switch {
			case a.err != nil || a.status != http.StatusCreated || a.body != first.body:
				t.Fatalf("round %d: answered %+v, and %+v", round, a, first)
			case a.header.Get("Idempotent-Replayed") == "":
				fresh++
			}
		}
		if fresh != 1 || first.header.Get("Idempotent-Replayed") != "true" {
			t.Fatalf("round %d: %d answers are the first", round, fresh)
		}
	}
	for _, p := range processes {
		if a := p.send("GET", "/v1/orders", "", ""); !strings.HasPrefix(a.body, fmt.Sprintf(`{"count":%d,`, rounds)) {
			t.Errorf("listed %.60s, want %d", a.body, rounds)
		}
	}
}

// TestUsedAddress: where another service has the address, no database was made.
func TestUsedAddress(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	path := filepath.Join(t.TempDir(), "demo.db")
	exit, stdout, stderr := runMain(t, nil, "demo", "--listen", taken.Addr().String(), "--db", "sqlite:"+path)
	if exit != exitUsage || stdout != "" || !strings.Contains(stderr, "address already in use") || strings.Contains(stderr, "migrated") {
		t.Errorf("exit %d, %q, %q", exit, stdout, stderr)
	}
	if exit, _, _ := runMain(t, nil, "doctor", "--db", "sqlite:"+path); exit != exitDatabase {
		t.Error("the database was made")
	}
}
