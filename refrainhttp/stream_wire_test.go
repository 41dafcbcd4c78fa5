package refrainhttp_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"testing"
	"time"
)

func TestWrapHijack(t *testing.T) {
	t.Parallel()
	s := wrap(t, guard, orders, func(w http.ResponseWriter, _ *http.Request) {
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_, _ = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\nConnection: upgrade\r\n\r\n")
		_ = rw.Flush()
		if _, err := w.Write([]byte("x")); !errors.Is(err, http.ErrHijacked) {
			t.Errorf("Write after it = %v", err)
		}
	})
	srv := s.serve()
	conn, from := dial(t, srv)
	raw(conn, "1.1", secretKey)
	line, err := textproto.NewReader(from).ReadLine()
	if err != nil || line != "HTTP/1.1 101 Switching Protocols" {
		t.Fatalf("%q, %v", line, err)
	}
	_, _ = io.Copy(io.Discard, from) // until the handler has closed it
	wantProblem(t, s.settled(), 409, "outcome-unknown")
	s.wantRuns(1)
}

// settled posts until the first request is no longer under way: its answer was
// out before its outcome.
func (s *till) settled() *http.Response {
	for {
		if res := s.post(); res.Header.Get("Idempotency-Status") != "in-progress" {
			return res
		}
	}
}

func TestHijackIsNotAlwaysPossible(t *testing.T) {
	t.Parallel()
	s := wrap(t, guard, orders, func(w http.ResponseWriter, r *http.Request) {
		if _, _, err := http.NewResponseController(w).Hijack(); !errors.Is(err, http.ErrNotSupported) {
			t.Errorf("Hijack = %v", err)
		}
		charge(w, r)
	})
	s.post() // a recorder has no connection
	wantReplay(t, s.post(), 201, "charged")
}

// TestEarlyHints go out at once and leave the final answer's fields alone.
func TestEarlyHints(t *testing.T) {
	t.Parallel()
	for name, final := range map[string]bool{"with an answer": true, "and nothing else": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hinted := make(chan struct{})
			s := wrap(t, guard, orders, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Link", "</style.css>; rel=preload")
				w.WriteHeader(http.StatusEarlyHints)
				<-hinted
				w.Header().Del("Link")
				if final {
					charge(w, r)
				}
			})
			srv := s.serve()
			var hints []string
			r := to(t, srv)
			r = r.WithContext(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{
				Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
					hints = append(hints, fmt.Sprint(code, h["Link"]))
					close(hinted)
					return nil
				},
			}))
			res, err := srv.Client().Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			if want := "103 [</style.css>; rel=preload]"; len(hints) != 1 || hints[0] != want {
				t.Errorf("hints = %q", hints)
			}
			if res.Header.Get("Link") != "" || res.Header.Get("Idempotency-Ref") == "" {
				t.Errorf("header = %v", res.Header)
			}
			if !final {
				wantProblem(t, s.post(), 409, "outcome-unknown")
				return
			}
			if res.StatusCode != 201 {
				t.Errorf("first = %d", res.StatusCode)
			}
			wantReplay(t, s.post(), 201, "charged")
		})
	}
}

func TestTrailersPass(t *testing.T) {
	t.Parallel()
	s := wrap(t, guard, orders, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Trailer", "X-Sum, X-Unset")
		_, _ = io.WriteString(w, "part")
		w.(http.Flusher).Flush()
		_, _ = io.WriteString(w, "s")
		w.Header().Set("X-Sum", "17")
		w.Header().Set("X-Other", "too late")
		w.Header().Set(http.TrailerPrefix+"X-Late", "yes")
	})
	srv := s.serve()
	res := send(t, srv)
	if got := text(t, res); got != "parts" {
		t.Errorf("body = %q", got)
	}
	if res.Trailer.Get("X-Sum") != "17" || res.Trailer.Get("X-Late") != "yes" || res.Trailer.Get("X-Other") != "" || res.Header.Get("X-Sum") != "" {
		t.Errorf("trailer = %v, header = %v", res.Trailer, res.Header)
	}
	s.wantGone(send(t, srv), []byte("parts"))
}

func TestWrappedCodings(t *testing.T) {
	t.Parallel()
	var coded bytes.Buffer
	zip := gzip.NewWriter(&coded)
	_, _ = zip.Write([]byte("charged"))
	_ = zip.Close()
	s := wrap(t, guard, orders, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("Content-Type", "text/plain")
		_, _ = w.Write(coded.Bytes())
	})
	srv := s.serve()
	for range 2 {
		res := send(t, srv)
		if got := text(t, res); got != coded.String() || res.Header.Get("Content-Encoding") != "gzip" {
			t.Errorf("body = %q %v", got, res.Header)
		}
	}
	wantReplay(t, s.post("Accept-Encoding", "identity"), 200, "charged")
}

// TestBodiless statuses: nothing is written, kept or announced.
func TestBodiless(t *testing.T) {
	t.Parallel()
	for _, status := range []int{204, 304} {
		s := wrap(t, guard, orders, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			if _, err := w.Write([]byte("x")); !errors.Is(err, http.ErrBodyNotAllowed) {
				t.Errorf("Write = %v", err)
			}
		})
		srv := s.serve()
		for range 2 {
			if res := send(t, srv); res.StatusCode != status || text(t, res) != "" || res.Header.Get("Content-Type") != "" {
				t.Errorf("answer = %d %v", res.StatusCode, res.Header)
			}
		}
		s.wantRuns(1)
	}
}

// TestControl: deadlines and full duplex reach the connection.
func TestControl(t *testing.T) {
	t.Parallel()
	s := wrap(t, guard, orders, func(w http.ResponseWriter, r *http.Request) {
		c := http.NewResponseController(w)
		for name, err := range map[string]error{
			"SetReadDeadline": c.SetReadDeadline(time.Now().Add(time.Hour)), "SetWriteDeadline": c.SetWriteDeadline(time.Now().Add(time.Hour)),
			"EnableFullDuplex": c.EnableFullDuplex(), "Flush": c.Flush(),
		} {
			if err != nil {
				t.Errorf("%s = %v", name, err)
			}
		}
		if _, bypass := w.(interface{ Unwrap() http.ResponseWriter }); bypass {
			t.Error("the client's writer can be reached past the guard")
		}
	})
	if res := send(t, s.serve()); res.StatusCode != 200 {
		t.Errorf("answer = %d", res.StatusCode)
	}
}
