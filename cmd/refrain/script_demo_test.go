package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"
)

// demoProcess is the demo of one script; a script has one at a time.
type demoProcess struct {
	cmd    *exec.Cmd
	stderr bytes.Buffer
	rest   sync.WaitGroup
}

var (
	demosMu sync.Mutex
	demos   = make(map[*testscript.TestScript]*demoProcess)
)

// lastLine begins the last line the demo prints at its start.
const lastLine = "# the same to look at: "

func serveDemo(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("serve cannot be negated")
	}
	p := &demoProcess{cmd: exec.Command("refrain", append([]string{"demo", "--listen", "127.0.0.1:0"}, args...)...)}
	p.cmd.Dir = ts.MkAbs(".")
	p.cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+ts.Getenv("XDG_CACHE_HOME"), "TMPDIR="+ts.Getenv("TMPDIR"))
	p.cmd.Stderr = &p.stderr
	stdout, err := p.cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(p.cmd.Start())
	ts.Defer(func() { _ = p.cmd.Process.Kill() })
	demosMu.Lock()
	demos[ts] = p
	demosMu.Unlock()

	var printed strings.Builder
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		fmt.Fprintln(&printed, lines.Text())
		if strings.HasPrefix(lines.Text(), lastLine) {
			break
		}
	}
	if !strings.Contains(printed.String(), lastLine) {
		ts.Fatalf("the demo ended early: %v\n%s%s", p.cmd.Wait(), &printed, &p.stderr)
	}
	p.rest.Go(func() { _, _ = io.Copy(io.Discard, stdout) })
	first, _, _ := strings.Cut(printed.String(), "\n")
	ts.Setenv("URL", strings.TrimPrefix(first, "listening on "))
	ts.Check(os.WriteFile(ts.MkAbs("demo.out"), []byte(printed.String()), 0o600))
}

func quit(ts *testscript.TestScript, neg bool, args []string) {
	demosMu.Lock()
	p := demos[ts]
	delete(demos, ts)
	demosMu.Unlock()
	if neg || len(args) != 0 || p == nil {
		ts.Fatalf("usage: quit, after serve")
	}
	ts.Check(p.cmd.Process.Signal(syscall.SIGINT)) // both, as a terminal and a manager may
	ts.Check(p.cmd.Process.Signal(syscall.SIGTERM))
	p.rest.Wait()
	if err := p.cmd.Wait(); err != nil {
		ts.Fatalf("the demo ended with %v\n%s", err, &p.stderr)
	}
	ts.Check(os.WriteFile(ts.MkAbs("demo.err"), p.stderr.Bytes(), 0o600))
}

// knownRef finds the ref an answer tells of.
var knownRef = regexp.MustCompile(`op_[0-9a-z]{29}`)

// paste reads what the demo printed as a person does: the comment says what the
// request below it is answered, and REF in it or in a command stands for the ref
// of the answer before it.
func paste(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: paste, after serve")
	}
	said, ref, sent := "", "", 0
	for line := range strings.Lines(ts.ReadFile("demo.out")) {
		line = strings.TrimSuffix(line, "\n")
		if answers, ok := strings.CutPrefix(line, "# answers "); ok {
			said = answers
		}
		switch {
		case strings.HasPrefix(line, "refrain "):
			ts.Check(ts.Exec("sh", "-c", strings.Replace(line, "REF", ref, 1)))
		case strings.HasPrefix(line, "curl "):
			status, body := send(ts, fromCurl(ts, strings.Replace(line, "REF", ref, 1)))
			if status != said {
				ts.Fatalf("%s\nanswered %s, said %s", line, status, said)
			}
			ref = knownRef.FindString(body)
			sent++
		}
	}
	if sent == 0 {
		ts.Fatalf("the demo printed no request")
	}
}

// fromCurl reads the part of curl's command line that the demo prints.
func fromCurl(ts *testscript.TestScript, line string) *http.Request {
	words := strings.Split(line, "'") // quoted words stand at odd places
	method, url, body := http.MethodGet, "", ""
	header := make(http.Header)
	for i := 1; i < len(words); i += 2 {
		switch option := strings.TrimSpace(words[i-1]); option {
		case "curl -i":
			url = words[i]
		case "-H":
			name, value, _ := strings.Cut(words[i], ": ")
			header.Add(name, value)
		case "-d":
			method, body = http.MethodPost, words[i]
		default:
			ts.Fatalf("%q in %s", option, line)
		}
	}
	r, err := http.NewRequest(method, url, strings.NewReader(body))
	ts.Check(err)
	r.Header = header
	return r
}

func keepRef(ts *testscript.TestScript, neg bool, args []string) {
	ref := knownRef.FindString(ts.ReadFile("stdout"))
	if neg || len(args) != 1 || ref == "" {
		ts.Fatalf("usage: keep NAME, after an answer with a ref")
	}
	ts.Setenv(args[0], ref)
}

func request(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: http METHOD URL [FIELD… -- BODY]")
	}
	fields, body := args[2:], ""
	if i := slices.Index(fields, "--"); i >= 0 {
		body, fields = strings.Join(fields[i+1:], " "), fields[:i]
	}
	r, err := http.NewRequest(args[0], args[1], strings.NewReader(body))
	ts.Check(err)
	for _, field := range fields {
		name, value, _ := strings.Cut(field, ": ")
		r.Header.Add(name, value)
	}
	send(ts, r)
}

// send prints the answer as HTTP/1.1 writes it and returns its status and body.
func send(ts *testscript.TestScript, r *http.Request) (status, text string) {
	answer, err := http.DefaultTransport.RoundTrip(r)
	ts.Check(err)
	defer answer.Body.Close()
	fmt.Fprintln(ts.Stdout(), answer.Status)
	ts.Check(answer.Header.Write(ts.Stdout()))
	body, err := io.ReadAll(answer.Body)
	ts.Check(err)
	fmt.Fprintf(ts.Stdout(), "\n%s\n", body)
	return answer.Status, string(body)
}
