package trials

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// answer is what a client can see.
type answer struct {
	status  int
	header  http.Header
	body    string
	proto   int
	length  int64
	chunked bool
}

func (a answer) String() string {
	return fmt.Sprintf("%d %s %.200q", a.status, a.problem(), a.body)
}

func (a answer) problem() string { return a.header.Get("Idempotency-Status") }
func (a answer) replayed() bool  { return a.header.Get("Idempotent-Replayed") == "true" }

// request is a POST of JSON to /orders; fields are names and values in turn,
// no value for none.
func (s *shop) request(ctx context.Context, key, body string, fields ...string) *http.Request {
	s.t.Helper()
	r, err := http.NewRequestWithContext(ctx, "POST", s.url+"/orders", strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.GetBody = nil // the client must not send it twice by itself
	r.Header.Set("Content-Type", "application/json")
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	for i := 0; i < len(fields); i += 2 {
		if fields[i+1] == "" {
			r.Header.Del(fields[i])
			continue
		}
		r.Header.Set(fields[i], fields[i+1])
	}
	return r
}

// try sends r; a request without an answer is an error.
func (s *shop) try(r *http.Request) (answer, error) {
	res, err := s.http.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return answer{res.StatusCode, res.Header, string(body), res.ProtoMajor, res.ContentLength, len(res.TransferEncoding) > 0}, err
}

func (s *shop) do(r *http.Request) answer {
	s.t.Helper()
	a, err := s.try(r)
	if err != nil {
		s.t.Fatal(err)
	}
	return a
}

func (s *shop) post(key, body string, fields ...string) answer {
	s.t.Helper()
	return s.do(s.request(s.t.Context(), key, body, fields...))
}

// send is a request of any method to any target.
func (s *shop) send(method, target, key, body string, fields ...string) answer {
	s.t.Helper()
	r := s.request(s.t.Context(), key, body, fields...)
	to, err := http.NewRequestWithContext(s.t.Context(), method, s.url+target, r.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	to.Header = r.Header
	return s.do(to)
}

// wantEffects counts the business rows.
func (s *shop) wantEffects(n int) {
	s.t.Helper()
	if got := s.store.rows(s.t); got != n {
		s.t.Errorf("effects = %d, want %d", got, n)
	}
}

// wantFresh demands a first answer.
func wantFresh(t *testing.T, a answer, status int) {
	t.Helper()
	if a.status != status || a.replayed() || a.problem() != "" {
		t.Errorf("answer = %v (replayed %t), want a first %d", a, a.replayed(), status)
	}
}

// wantReplay demands first again, to the byte.
func wantReplay(t *testing.T, a, first answer) {
	t.Helper()
	if a.status != first.status || a.body != first.body || !a.replayed() || a.problem() != "" {
		t.Errorf("answer = %v (replayed %t), want %v again", a, a.replayed(), first)
	}
	if want := first.header["Content-Type"]; first.header != nil && !slices.Equal(a.header["Content-Type"], want) {
		t.Errorf("Content-Type = %q, want %q", a.header["Content-Type"], want)
	}
}

// wantProblem demands a refusal of the guard in the form of RFC 9457.
func wantProblem(t *testing.T, a answer, status int, name string) map[string]any {
	t.Helper()
	var doc map[string]any
	if a.status != status || a.problem() != name {
		t.Fatalf("answer = %v, want %d %s", a, status, name)
	}
	if err := json.Unmarshal([]byte(a.body), &doc); err != nil {
		t.Fatalf("%v in %v", err, a)
	}
	return doc
}

// wire is a connection for requests written by hand.
type wire struct {
	t    *testing.T
	conn net.Conn
	from *bufio.Reader
}

func (s *shop) dial() *wire {
	s.t.Helper()
	conn, err := net.Dial("tcp", s.addr)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = conn.Close() })
	return &wire{s.t, conn, bufio.NewReader(conn)}
}

// post writes a POST of the usual order; lines are further header lines.
func (w *wire) post(version string, lines ...string) {
	w.t.Helper()
	head := "POST /orders HTTP/" + version + "\r\nHost: shop\r\nContent-Type: application/json\r\n"
	for _, line := range lines {
		head += line + "\r\n"
	}
	if _, err := fmt.Fprintf(w.conn, "%sContent-Length: %d\r\n\r\n%s", head, len(order), order); err != nil {
		w.t.Fatal(err)
	}
}

func (w *wire) read() answer {
	w.t.Helper()
	res, err := http.ReadResponse(w.from, &http.Request{Method: "POST"})
	if err != nil {
		w.t.Fatal(err)
	}
	if res.StatusCode == http.StatusContinue {
		return answer{status: res.StatusCode, header: res.Header}
	}
	body, err := io.ReadAll(res.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return answer{res.StatusCode, res.Header, string(body), res.ProtoMajor, res.ContentLength, len(res.TransferEncoding) > 0}
}

// order is the usual request, other another one.
const (
	order = `{"sku":"A-1","amount":10}`
	other = `{"sku":"A-1","amount":20}`
)

func decimal(n int64) string { return fmt.Sprint(n) }

// uuidBornAt is a UUIDv7 of that time.
func uuidBornAt(at time.Time) string {
	ms := at.UnixMilli()
	return fmt.Sprintf("%08x-%04x-7000-8000-000000000001", ms>>16, ms&0xffff)
}
