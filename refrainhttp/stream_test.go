package refrainhttp_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/refrain-dev/refrain/record"
)

// serve puts the till on a real server.
func (s *till) serve() *httptest.Server {
	srv := httptest.NewUnstartedServer(s.http)
	srv.Config.ErrorLog = discard
	srv.Start()
	s.t.Cleanup(srv.Close)
	return srv
}

// send posts the order to a real server.
func send(t *testing.T, srv *httptest.Server) *http.Response {
	t.Helper()
	res, err := srv.Client().Do(to(t, srv))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	return res
}

func to(t *testing.T, srv *httptest.Server) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "POST", srv.URL+"/orders", strings.NewReader(smallOrder))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Idempotency-Key", secretKey)
	r.Header.Set("Accept-Encoding", "gzip") // and no decoding behind our back
	return r
}

// wantGone is row 5 with the digest of body.
func (s *till) wantGone(res *http.Response, body []byte) {
	s.t.Helper()
	doc := wantProblem(s.t, res, 410, "result-gone")
	rec, sum := s.record(), sha256.Sum256(body)
	if rec.State != record.Confirmed || !bytes.Equal(rec.Result.Digest, sum[:]) || rec.Result.Body != nil || doc.Ref != rec.Ref {
		s.t.Errorf("record = %+v, want the digest %x", rec, sum)
	}
}

// TestFlushPasses: what the handler has flushed arrives while it runs, with the
// ref; repeats get row 5.
func TestFlushPasses(t *testing.T) {
	t.Parallel()
	for name, media := range map[string]string{"flush": "text/plain", "event stream": "text/event-stream; charset=utf-8", "by Flusher": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			arrived := make(chan struct{})
			s := wrap(t, guard, orders, func(w http.ResponseWriter, r *http.Request) {
				if media != "" {
					w.Header().Set("Content-Type", media)
				}
				w.Header().Set("Location", "/charges/17")
				_, _ = io.WriteString(w, "data: 1\n\n")
				if media == "" {
					w.(http.Flusher).Flush()
				} else if err := http.NewResponseController(w).Flush(); err != nil {
					t.Error(err)
				}
				<-arrived
				_, _ = io.WriteString(w, "data: 2\n\n")
			})
			srv := s.serve()
			res := send(t, srv)
			begin := make([]byte, 9)
			if _, err := io.ReadFull(res.Body, begin); err != nil || string(begin) != "data: 1\n\n" {
				t.Fatalf("%q, %v", begin, err)
			}
			if media != "" && res.Header.Get("Content-Type") != media || media == "" && res.Header.Get("Content-Type") == "" {
				t.Errorf("Content-Type = %q", res.Header.Get("Content-Type"))
			}
			if ref := s.record().Ref; res.Header.Get("Idempotency-Ref") != ref || res.Header.Get("Idempotency-Expires") != "" || res.ContentLength != -1 {
				t.Errorf("header = %v", res.Header)
			}
			close(arrived)
			if rest := text(t, res); rest != "data: 2\n\n" {
				t.Errorf("rest = %q", rest)
			}
			again := send(t, srv)
			if again.Header.Get("Content-Location") == "" {
				t.Errorf("row 5 = %v", again.Header)
			}
			s.wantGone(again, []byte("data: 1\n\ndata: 2\n\n"))
			s.wantRuns(1)
		})
	}
}

// TestEventStreamBegins before anything is flushed: it has no end to wait for.
func TestEventStreamBegins(t *testing.T) {
	t.Parallel()
	s := wrap(t, guard, orders, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.WriteHeader(200)
	})
	if res := s.post(); res.Header.Get("Idempotency-Ref") == "" {
		t.Errorf("header = %v", res.Header)
	}
	s.wantGone(s.post(), nil)
}

// TestLargeBodyPasses: memory stays bounded and every byte arrives.
func TestLargeBodyPasses(t *testing.T) {
	t.Parallel()
	const size = 17 << 20
	line := bytes.Repeat([]byte("0123456789abcde\n"), 1024)
	whole := bytes.Repeat(line, size/len(line))
	for name, declared := range map[string]bool{"declared": true, "chunked": false} {
		t.Run(name, func(t *testing.T) {
			s := wrap(t, guard, orders, func(w http.ResponseWriter, _ *http.Request) {
				if declared {
					w.Header().Set("Content-Length", fmt.Sprint(size))
				}
				for range size / len(line) {
					if n, err := w.Write(line); n != len(line) || err != nil {
						t.Errorf("Write = %d, %v", n, err)
					}
				}
			})
			srv := s.serve()
			res := send(t, srv)
			if want := map[bool]int64{true: size, false: -1}[declared]; res.ContentLength != want {
				t.Errorf("Content-Length = %d, want %d", res.ContentLength, want)
			}
			got, err := io.ReadAll(res.Body)
			if err != nil || !bytes.Equal(got, whole) {
				t.Errorf("%d bytes, %v", len(got), err)
			}
			s.wantGone(send(t, srv), whole)
		})
	}
}

// TestLargeBodyMemory runs alone: it counts what the whole process allocates.
func TestLargeBodyMemory(t *testing.T) {
	line := make([]byte, 16<<10)
	s := wrap(t, guard, orders, func(w http.ResponseWriter, _ *http.Request) {
		for range 17 << 20 / len(line) {
			_, _ = w.Write(line)
		}
	})
	w := blank{make(http.Header)}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	s.http.ServeHTTP(w, request(secretKey, smallOrder))
	runtime.ReadMemStats(&after)
	if made := after.TotalAlloc - before.TotalAlloc; made > 8<<20 {
		t.Errorf("%d bytes were allocated for an answer of which at most 1 MiB is kept", made)
	}
}

// TestJustEnough: an answer of MaxResponse is kept, one byte more passes.
func TestJustEnough(t *testing.T) {
	t.Parallel()
	c := orders
	c.MaxResponse = 10
	for size, kept := range map[int]bool{9: true, 10: true, 11: false} {
		body := strings.Repeat("x", size)
		s := wrap(t, guard, c, func(w http.ResponseWriter, _ *http.Request) {
			for i := range body {
				_, _ = io.WriteString(w, body[i:i+1])
			}
		})
		if res := s.post(); text(t, res) != body {
			t.Errorf("%d bytes: the first answer differs", size)
		}
		if kept {
			wantReplay(t, s.post(), 200, body)
		} else {
			s.wantGone(s.post(), []byte(body))
		}
	}
}
