package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/refrain-dev/refrain/cmd/refrain/internal/tour"
)

// runMain runs one command line in this process.
func runMain(t *testing.T, env map[string]string, args ...string) (exit int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	m := Main{Stdout: &out, Stderr: &errs, Getenv: func(name string) string { return env[name] }, CacheDir: func() (string, error) { return t.TempDir(), nil }}
	exit = m.Run(context.Background(), args)
	return exit, out.String(), errs.String()
}

// TestErrorsAreTwoLines: one says what is wrong, one what to do.
func TestErrorsAreTwoLines(t *testing.T) {
	t.Parallel()
	missing := "sqlite:" + filepath.Join(t.TempDir(), "missing.db")
	for _, tt := range []struct {
		exit int
		args string
	}{
		{exitUsage, "bogus"},
		{exitUsage, "--bogus"},
		{exitUsage, "tour extra"},
		{exitUsage, "doctor"},
		{exitUsage, "doctor --db"},
		{exitUsage, "doctor --db oracle://x"},
		{exitUsage, "doctor --db shop.db"},
		{exitUsage, "doctor --db sqlite:"},
		{exitUsage, "doctor --db sqlite::memory:"},
		{exitDatabase, "doctor --db " + missing},
		{exitDatabase, "contract --db " + missing},
		{exitDatabase, "migrate status --db " + missing},
		{exitDatabase, "migrate status --db sqlite:" + t.TempDir()},
		{exitUsage, "migrate"},
		{exitUsage, "migrate sideways"},
		{exitUsage, "contract --url ftp://x"},
		{exitUsage, "contract --url http://x --db sqlite:x"},
		{exitUsage, "demo --ephemeral --db sqlite:x"},
		{exitUsage, "demo --ephemeral --wait -1s"},
		{exitUsage, "demo --ephemeral --wait soon"},
		{exitUsage, "demo --ephemeral --replay-for 0s"},
		{exitUsage, "demo --ephemeral --remember-for 1h"},
		{exitUsage, "demo --ephemeral --skew 200h"},
		{exitUsage, "demo --ephemeral --max-execution 0s"},
		{exitUsage, "demo --ephemeral --lease 999ms"},
		{exitUsage, "version extra"},
		{exitUsage, "demo --ephemeral --listen nowhere"},
	} {
		exit, stdout, stderr := runMain(t, nil, strings.Fields(tt.args)...)
		lines := strings.Split(strings.TrimSuffix(stderr, "\n"), "\n")
		if exit != tt.exit || stdout != "" || len(lines) != 2 || !strings.HasPrefix(lines[0], "refrain: ") || !strings.HasPrefix(lines[1], "hint: ") {
			t.Errorf("%s: exit %d, want %d; stdout %q, stderr %q", tt.args, exit, tt.exit, stdout, stderr)
		}
	}
}

func TestDatabaseFromTheEnvironment(t *testing.T) {
	t.Parallel()
	env := map[string]string{"REFRAIN_DB": "sqlite:" + filepath.Join(t.TempDir(), "a.db")}
	if exit, _, stderr := runMain(t, env, "migrate"); exit != exitOK {
		t.Fatal(stderr)
	}
	if exit, stdout, _ := runMain(t, env, "migrate", "status"); exit != exitOK || stdout == "" {
		t.Errorf("exit %d, %q", exit, stdout)
	}
	other := "sqlite:" + filepath.Join(t.TempDir(), "b.db")
	if exit, _, _ := runMain(t, env, "migrate", "status", "--db", other); exit != exitDatabase {
		t.Errorf("--db does not win over REFRAIN_DB: exit %d", exit)
	}
}

func TestTourThatFails(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	m := Main{Stdout: &out, started: true}
	report := tour.Report{Lines: []tour.Line{{Name: "a line", Evidence: "8 effects"}}, Effects: 8, Receipts: 6}
	if err := m.printTour(report); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); !strings.HasPrefix(text, "NOT OK  a line\n") || strings.Contains(text, "verified") {
		t.Errorf("printed %q", text)
	}
	if f := m.diagnose(verdict(report), ""); f == nil || f.code != exitDiffers {
		t.Errorf("ends with %+v", f)
	}
	report.Lines[0].OK = true
	if err := verdict(report); err != nil {
		t.Errorf("a good tour ends with %v", err)
	}
}

// TestDemoInProcess reads the JSON form and stops the demo by its context.
func TestDemoInProcess(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	read, write := io.Pipe()
	m := Main{Stdout: write, Stderr: io.Discard, Getenv: func(string) string { return "" }, CacheDir: func() (string, error) { return t.TempDir(), nil }}
	ended := make(chan int, 1)
	go func() {
		exit := m.Run(ctx, []string{"demo", "--listen", "127.0.0.1:0", "--json", "--effect-delay", "0s", "--wait", "0s", "--skew", "0s"})
		write.Close()
		ended <- exit
	}()
	stdout := bufio.NewReader(read)
	line, err := stdout.ReadString('\n')
	if err != nil {
		t.Fatal(err, <-ended)
	}
	var doc struct {
		URL, Database string
		Requests      []struct{ Method, URL, Body string }
	}
	if err := json.NewDecoder(stdout).Decode(&doc); err != nil {
		t.Fatal(err)
	}
	if line != "listening on "+doc.URL+"\n" || !strings.HasSuffix(doc.Database, "refrain/demo.db") || len(doc.Requests) != 30 {
		t.Errorf("printed %q and %+v", line, doc)
	}
	answer, err := http.Get(doc.URL + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Errorf("health is %s", answer.Status)
	}
	cancel()
	if exit := <-ended; exit != exitOK {
		t.Errorf("exit code %d", exit)
	}
}

// TestDemoOutlivesItsReader: whoever wants no more than the address may close
// the pipe, here before the first line.
func TestDemoOutlivesItsReader(t *testing.T) {
	t.Parallel()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	read, write, err := os.Pipe()
	if err := errors.Join(err, free.Close(), read.Close()); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("refrain", "demo", "--listen", address, "--db", "sqlite:"+filepath.Join(t.TempDir(), "demo.db"))
	cmd.Stdout = write
	if err := errors.Join(cmd.Start(), write.Close()); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		if answer, err := http.Get("http://" + address + "/healthz"); err == nil {
			answer.Body.Close()
			break
		}
		select {
		case err := <-ended:
			t.Fatalf("the demo ended before it was ready: %v", err)
		default:
		}
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("the demo ended with %v", err)
	}
}

// TestServeDrains: a request under way when the end comes is answered.
func TestServeDrains(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	inside, release := make(chan struct{}), make(chan struct{})
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(inside)
		<-release
		_, _ = io.WriteString(w, "done")
	})
	served := make(chan error, 1)
	go func() { served <- serve(ctx, listener, handler, time.Minute) }()
	answered := make(chan string, 1)
	go func() {
		answer, err := http.Get("http://" + listener.Addr().String())
		if err != nil {
			answered <- err.Error()
			return
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		answered <- string(body) + errorText(err)
	}()
	<-inside
	cancel()
	for { // until the address refuses: shutting down has begun
		conn, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			break
		}
		conn.Close()
	}
	close(release)
	if got := <-answered; got != "done" {
		t.Errorf("the request under way got %q", got)
	}
	if err := <-served; err != nil {
		t.Errorf("serve returned %v", err)
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestContractOfAService(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]int{
		`{"contracts":[{"operation":"a|b","future":[1]}],"horizons":{"a|b":"2026-01-02T03:04:05Z"},"decisions":[]}`: exitOK,
		`{"contracts":`:     exitDatabase,
		`{}`:                exitDatabase,
		`{"contracts":[1]}`: exitDatabase,
	} {
		service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/.well-known/idempotency" {
				http.NotFound(w, r)
				return
			}
			_, _ = io.WriteString(w, answer)
		}))
		exit, stdout, stderr := runMain(t, nil, "contract", "--url", service.URL)
		if exit != want {
			t.Errorf("%s: exit %d, want %d; %s", answer, exit, want, stderr)
		}
		if want == exitOK && (!strings.Contains(stdout, `## a\|b`) || !strings.Contains(stdout, "| `future` | `[1]` |") || !strings.Contains(stdout, "| horizon | `2026-01-02T03:04:05Z` |")) {
			t.Errorf("printed %s", stdout)
		}
		if exit, _, _ := runMain(t, nil, "contract", "--url", service.URL+"/elsewhere"); exit != exitDatabase {
			t.Errorf("another path: exit %d", exit)
		}
		service.Close()
	}
}

func TestDiagnoseKeepsOneLine(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	(&Main{started: true}).diagnose(errors.Join(errors.New("one"), errors.New("two")), "").print(&out)
	if !strings.HasPrefix(out.String(), "refrain: one two\nhint: ") {
		t.Errorf("printed %q", out.String())
	}
}
