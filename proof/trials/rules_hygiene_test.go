package trials

import (
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"
)

// TestRulesOfReplayFields: what belongs to one exchange is in no other.
func TestRulesOfReplayFields(t *testing.T) {
	t.Parallel()
	stored := map[string][]string{
		"hop-by-hop":    {"X-Named", "Keep-Alive", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade"},
		"proxy":         {"Proxy-Authenticate", "Proxy-Authentication-Info", "Proxy-Authorization", "Proxy-Status"},
		"cache":         {"Age"},
		"credentials":   {"Set-Cookie", "Set-Cookie2", "Www-Authenticate", "Authentication-Info"},
		"tracing":       {"X-Request-Id", "Traceparent", "Tracestate", "Server-Timing"},
		"rate limits":   {"Ratelimit", "Ratelimit-Remaining", "Ratelimit-Policy", "X-Ratelimit-Limit", "Retry-After"},
		"CORS":          {"Access-Control-Allow-Origin", "Access-Control-Expose-Headers"},
		"guard's alone": {"Idempotency-Status", "Idempotency-Observed"},
	}
	g := guard
	s := open(t, newFile, g, orders, func(w http.ResponseWriter, r *http.Request, put func() error) error {
		for _, names := range stored {
			for _, name := range names {
				w.Header()[name] = []string{"7"}
			}
		}
		w.Header().Set("Connection", "X-Named")
		w.Header().Set("Date", "Mon, 01 Jan 2001 00:00:00 GMT")
		w.Header()["X-List"] = []string{"c", "a", "b", "a"}
		return create(w, r, put)
	})
	first := s.post("k", order)
	if first.replayed() || first.status != 201 || first.header.Get("Idempotent-Replayed") != "" {
		t.Errorf("first = %v %v", first, first.header)
	}
	a := s.post("k", order)
	wantReplay(t, a, first)
	for kind, names := range stored {
		for _, name := range names {
			if got := a.header[name]; got != nil {
				t.Errorf("%s: the replay has %s: %q", kind, name, got)
			}
		}
	}
	if at, err := http.ParseTime(a.header.Get("Date")); err != nil || time.Since(at) > time.Minute {
		t.Errorf("Date = %q", a.header.Get("Date"))
	}
	if !reflect.DeepEqual(a.header["X-List"], []string{"c", "a", "b", "a"}) {
		t.Errorf("X-List = %q", a.header["X-List"])
	}
	if a.header.Get("Cache-Control") != "no-store" || a.header.Get("Connection") != "" {
		t.Errorf("header = %v", a.header)
	}
	s.wantEffects(1)
}

// TestRulesOfCaching: a handler's no-store does not keep its result out of the
// record, and no replay invites a cache.
func TestRulesOfCaching(t *testing.T) {
	t.Parallel()
	for sent, want := range map[string]string{"": "no-store", "no-store": "no-store", "private, max-age=60": "private, max-age=60"} {
		s := open(t, newFile, guard, orders, func(w http.ResponseWriter, r *http.Request, put func() error) error {
			if sent != "" {
				w.Header().Set("Cache-Control", sent)
			}
			return create(w, r, put)
		})
		first, a := s.post("k", order), s.post("k", order)
		wantReplay(t, a, first)
		if a.header.Get("Cache-Control") != want || first.header.Get("Cache-Control") != sent {
			t.Errorf("Cache-Control %q, replayed %q", first.header.Get("Cache-Control"), a.header.Get("Cache-Control"))
		}
		s.wantEffects(1)
	}
}

// TestRulesOfCodings: a coded result is readable by whoever asks again.
func TestRulesOfCodings(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("readable ", 500)
	s := open(t, newFile, guard, orders, func(w http.ResponseWriter, r *http.Request, put func() error) error {
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("Vary", "Accept-Encoding")
		w.Header().Set("Content-Type", "text/plain")
		_, err := io.WriteString(w, packed(text))
		return errors.Join(err, put())
	})
	first := s.post("k", order, "Accept-Encoding", "gzip")
	for accept, coding := range map[string]string{"gzip": "gzip", "identity": "", "br": "", "gzip;q=0": ""} {
		a := s.post("k", order, "Accept-Encoding", accept)
		plain := io.Reader(strings.NewReader(a.body))
		if coding != "" {
			var err error
			if plain, err = gzip.NewReader(plain); err != nil {
				t.Fatalf("%s: %v in %v", accept, err, a)
			}
		}
		got, err := io.ReadAll(plain)
		if err != nil || string(got) != text || a.header.Get("Content-Encoding") != coding || !a.replayed() ||
			a.header.Get("Vary") != first.header.Get("Vary") || a.length >= 0 && a.length != int64(len(a.body)) {
			t.Errorf("for %s: %v, %d bytes, %v", accept, err, len(got), a.header)
		}
	}
	s.wantEffects(1)

	for _, status := range []int{204, 205} {
		s := open(t, newFile, guard, orders, func(w http.ResponseWriter, r *http.Request, put func() error) error {
			w.WriteHeader(status)
			return put()
		})
		for range 2 {
			if a := s.post("k", order); a.status != status || a.body != "" || status == 204 && a.header["Content-Length"] != nil {
				t.Errorf("%d = %v %v", status, a, a.header)
			}
		}
		s.wantEffects(1)
	}
}

// TestRulesOfWholeResults: what is cut short is not stored as whole, and what
// is too large does not run again under its key.
func TestRulesOfWholeResults(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		finish  func(w http.ResponseWriter) error
		status  int // of the first answer
		problem string
	}{
		"a declared length that was not reached": {func(w http.ResponseWriter) error {
			w.Header().Set("Content-Length", "100")
			_, err := io.WriteString(w, "half")
			return err
		}, 500, "handler-failed"},
		"an error after half the answer": {func(w http.ResponseWriter) error {
			_, _ = io.WriteString(w, "half")
			return io.ErrUnexpectedEOF
		}, 500, "handler-failed"},
		"an abort": {func(w http.ResponseWriter) error {
			_, _ = io.WriteString(w, "half")
			panic(http.ErrAbortHandler)
		}, 0, ""},
		"an event stream": {func(w http.ResponseWriter) error {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: half\n\n")
			return nil
		}, 500, "response-not-recordable"},
		"a hijack": {func(w http.ResponseWriter) error {
			_, _, _ = http.NewResponseController(w).Hijack()
			return nil
		}, 500, "response-not-recordable"},
		"an upgrade": {func(w http.ResponseWriter) error { w.WriteHeader(101); return nil }, 500, "response-not-recordable"},
		"one byte over the limit": {func(w http.ResponseWriter) error {
			_, err := io.WriteString(w, strings.Repeat("x", 1001))
			return err
		}, 500, "response-too-large"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := orders
			c.MaxResponse = 1000
			failing := true
			s := open(t, newFile, guard, c, func(w http.ResponseWriter, r *http.Request, put func() error) error {
				if err := put(); err != nil {
					return err
				}
				if failing {
					return tt.finish(w)
				}
				return create(w, r, func() error { return nil })
			})
			for range 2 {
				a, err := s.try(s.request(t.Context(), "k", order))
				switch {
				case tt.status == 0 && err == nil, tt.status != 0 && err != nil:
					t.Errorf("answer = %v, %v", a, err)
				case tt.status != 0:
					wantProblem(t, a, tt.status, tt.problem)
				}
				s.wantEffects(0)
			}
			failing = false
			wantFresh(t, s.post("k", order), 201)
			s.wantEffects(1)
		})
	}
}

// TestRulesOfOrigins: an origin sends no Proxy-Status of its own, and a request
// marked as early data is as safe as its retry.
func TestRulesOfOrigins(t *testing.T) {
	t.Parallel()
	seen := ""
	s := open(t, newFile, guard, orders, func(w http.ResponseWriter, r *http.Request, put func() error) error {
		seen = r.Header.Get("Early-Data")
		return create(w, r, put)
	})
	first := s.post("k", order, "Early-Data", "1")
	if seen != "1" || first.header.Get("Proxy-Status") != "" {
		t.Errorf("the handler saw Early-Data %q; answer %v", seen, first.header)
	}
	wantReplay(t, s.post("k", order), first)
	if a := s.post("k", other, "Early-Data", "1"); a.header.Get("Proxy-Status") != "" || a.status != 422 {
		t.Errorf("refusal = %v %v", a, a.header)
	}
	s.wantEffects(1)
}
