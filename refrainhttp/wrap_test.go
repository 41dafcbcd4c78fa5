package refrainhttp_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/refrainhttp"
)

func TestWrapReplays(t *testing.T) {
	t.Parallel()
	s := wrap(t, guard, orders, charge)
	first := s.post()
	if body := text(t, first); first.StatusCode != 201 || body != "charged" {
		t.Fatalf("first = %d %q", first.StatusCode, body)
	}
	for _, name := range []string{"Idempotency-Ref", "Idempotency-Expires", "Idempotency-Remembered"} {
		if first.Header.Get(name) == "" {
			t.Errorf("the first answer has no %s", name)
		}
	}
	again := s.post()
	wantReplay(t, again, 201, "charged")
	if again.Header.Get("Location") != "/charges/17" || again.Header.Get("Idempotency-Ref") != first.Header.Get("Idempotency-Ref") {
		t.Errorf("replay = %v", again.Header)
	}
	wantProblem(t, s.do(request(secretKey, `{"sku":"B-2"}`)), 422, "key-reused")
	s.wantRuns(1)
	if rec := s.record(); rec.State != record.Confirmed || rec.Result.Effect != "/charges/17" || !rec.Lease.IsZero() {
		t.Errorf("record = %+v", rec)
	}
}

// TestWrapJudgesAnswers: no status proves that nothing happened, so none frees
// the key; what may not be the action's outcome is unknown.
func TestWrapJudgesAnswers(t *testing.T) {
	t.Parallel()
	final := map[int]record.State{
		200: record.Confirmed, 202: record.Confirmed, 204: record.Confirmed, 299: record.Confirmed,
		300: record.Confirmed, 303: record.Confirmed, 304: record.Confirmed, 308: record.Confirmed,
		400: record.Rejected, 403: record.Rejected, 404: record.Rejected, 409: record.Rejected, 422: record.Rejected, 451: record.Rejected,
		401: record.Unknown, 407: record.Unknown, 408: record.Unknown, 425: record.Unknown, 429: record.Unknown,
		500: record.Unknown, 502: record.Unknown, 503: record.Unknown, 504: record.Unknown, 599: record.Unknown,
	}
	for status, want := range final {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			s := wrap(t, guard, orders, answering(status))
			first := s.post()
			body := text(t, first)
			if first.StatusCode != status || first.Header.Get("Idempotency-Ref") == "" || first.Header.Get("Idempotency-Status") != "" {
				t.Errorf("first = %d %v", first.StatusCode, first.Header)
			}
			if promised := first.Header.Get("Idempotency-Expires") != ""; promised != want.Final() {
				t.Errorf("the first answer promises a replay: %t", promised)
			}
			s.wantState(want)
			if want.Final() {
				wantReplay(t, s.post(), status, body)
			} else {
				doc := wantProblem(t, s.post(), 409, "outcome-unknown")
				if doc.Ref != first.Header.Get("Idempotency-Ref") || doc.State != "unknown" {
					t.Errorf("problem = %+v", doc)
				}
				if !s.saw("7", record.OutcomeUnknown) {
					t.Error("the observer was not told")
				}
			}
			s.wantRuns(1)
		})
	}
}

// TestWrapEndings are the ways to end without a complete answer.
func TestWrapEndings(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		handler http.HandlerFunc
		status  int // of the first answer; 0 is none
		state   record.State
	}{
		"panic":          {func(http.ResponseWriter, *http.Request) { panic("boom") }, 0, record.Unknown},
		"ErrAbort":       {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, 0, record.Unknown},
		"Goexit":         {func(http.ResponseWriter, *http.Request) { runtime.Goexit() }, 0, record.Unknown},
		"panic, 201":     {func(w http.ResponseWriter, r *http.Request) { charge(w, r); panic("boom") }, 0, record.Unknown},
		"free and panic": {func(w http.ResponseWriter, _ *http.Request) { refrainhttp.NotStarted(w); panic("boom") }, 0, record.Unknown},
		"silence":        {func(http.ResponseWriter, *http.Request) {}, 200, record.Confirmed},
		"too short": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "10")
			_, _ = io.WriteString(w, "short")
		}, 200, record.Unknown},
		"too long": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "2")
			if _, err := io.WriteString(w, "ok"); err != nil {
				panic(err)
			}
			if _, err := io.WriteString(w, "more"); err != http.ErrContentLength {
				panic(err)
			}
		}, 200, record.Confirmed},
		"two statuses": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(202); w.WriteHeader(500) }, 202, record.Confirmed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := wrap(t, guard, orders, tt.handler)
			answer, ended := guarded(s)
			if ended != (tt.status != 0) {
				t.Errorf("ServeHTTP returned: %t", ended)
			}
			if ended && answer.StatusCode != tt.status {
				t.Errorf("first = %d", answer.StatusCode)
			}
			s.wantState(tt.state)
			if tt.state == record.Unknown {
				wantProblem(t, s.post(), 409, "outcome-unknown")
			} else {
				wantReplay(t, s.post(), tt.status, text(t, answer))
			}
			s.wantRuns(1)
		})
	}
}

// guarded sends the order where the guard may panic or leave its goroutine, and
// reports whether it returned.
func guarded(s *till) (res *http.Response, returned bool) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { _ = recover() }()
		res = s.post()
		returned = true
	}()
	<-done
	return res, returned
}

func TestWrapPanicKeepsItsValue(t *testing.T) {
	t.Parallel()
	s := wrap(t, guard, orders, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	defer func() {
		if got := recover(); got != http.ErrAbortHandler { //nolint:errorlint // the value itself is the signal
			t.Errorf("panic = %v", got)
		}
	}()
	s.post()
}

// TestWrapDeclarations: what the handler says wins over its status.
func TestWrapDeclarations(t *testing.T) {
	t.Parallel()
	c := orders
	c.FreeOn = []int{503}
	for name, tt := range map[string]struct {
		handler http.HandlerFunc
		state   record.State
	}{
		"Record a 500":    {func(w http.ResponseWriter, _ *http.Request) { refrainhttp.Record(w); w.WriteHeader(500) }, record.Confirmed},
		"Record a 404":    {func(w http.ResponseWriter, _ *http.Request) { refrainhttp.Record(w); w.WriteHeader(404) }, record.Confirmed},
		"Refuse a 200":    {func(w http.ResponseWriter, _ *http.Request) { refrainhttp.Refuse(w); w.WriteHeader(200) }, record.Rejected},
		"Refuse a 429":    {func(w http.ResponseWriter, _ *http.Request) { refrainhttp.Refuse(w); w.WriteHeader(429) }, record.Rejected},
		"NotStarted":      {func(w http.ResponseWriter, _ *http.Request) { refrainhttp.NotStarted(w); w.WriteHeader(429) }, 0},
		"NotStarted, 200": {func(w http.ResponseWriter, _ *http.Request) { refrainhttp.NotStarted(w) }, 0},
		"late NotStarted": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(429); refrainhttp.NotStarted(w) }, record.Unknown},
		"late Refuse":     {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(201); refrainhttp.Refuse(w) }, record.Confirmed},
		"a listed status": {answering(503), 0},
		"an unlisted one": {answering(502), record.Unknown},
		"below middleware": {func(w http.ResponseWriter, _ *http.Request) {
			refrainhttp.NotStarted(struct{ unwrapping }{unwrapping{w}})
			w.WriteHeader(500)
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := wrap(t, guard, c, tt.handler)
			res := s.post()
			s.wantState(tt.state)
			if receipt := res.Header.Get("Idempotency-Ref") != ""; receipt != (tt.state != 0) {
				t.Errorf("the answer has a ref: %t", receipt)
			}
			if tt.state == 0 {
				s.post()
				s.wantRuns(2)
			}
		})
	}
}

type unwrapping struct{ http.ResponseWriter }

func (u unwrapping) Unwrap() http.ResponseWriter { return u.ResponseWriter }

func TestWrapSetEffect(t *testing.T) {
	t.Parallel()
	s := wrap(t, guard, orders, func(w http.ResponseWriter, r *http.Request) {
		refrainhttp.SetEffect(w, "charge 17")
		charge(w, r)
	})
	s.post()
	if got := s.record().Result.Effect; got != "charge 17" {
		t.Errorf("effect = %q", got)
	}
}

// TestWrapPassesOthers: what is not guarded meets the handler as it came, and
// leaves no record.
func TestWrapPassesOthers(t *testing.T) {
	t.Parallel()
	var outer http.ResponseWriter
	var given *http.Request
	c := orders
	c.KeyOptional = true
	s := wrap(t, guard, c, func(w http.ResponseWriter, r *http.Request) {
		if w != outer || r != given {
			t.Errorf("%s: the handler did not get the request as it came", r.Method)
		}
		if _, running := refrain.CallFrom(r.Context()); running {
			t.Errorf("%s has an action", r.Method)
		}
		w.WriteHeader(200)
	})
	for _, method := range []string{"GET", "HEAD", "OPTIONS", "DELETE", "PUT", "TRACE", "POST"} {
		given = httptest.NewRequest(method, "/orders", strings.NewReader("body"))
		if method != "POST" {
			given.Header.Set("Idempotency-Key", secretKey)
			given.Header.Set("Authorization", "nobody")
		}
		recorder := httptest.NewRecorder()
		outer = recorder
		s.http.ServeHTTP(outer, given)
		if recorder.Code != 200 {
			t.Errorf("%s = %d", method, recorder.Code)
		}
	}
	s.wantRuns(7)
	s.wantState(0)
	if !s.saw("11", "") {
		t.Error("the request without a key was not counted")
	}
}

// TestWrapRefusesBeforeTheClaim: the order of checks is Handle's.
func TestWrapRefusesBeforeTheClaim(t *testing.T) {
	t.Parallel()
	s := wrap(t, guard, orders, charge)
	wantProblem(t, s.post("Authorization", "nobody"), 401, "principal-missing")
	wantProblem(t, s.post("Authorization", "guest"), 403, "forbidden")
	wantProblem(t, s.do(request("", smallOrder)), 400, "key-missing")
	wantProblem(t, s.do(request(`"k`, smallOrder)), 400, "key-invalid")
	wantProblem(t, s.do(request(secretKey, `{"a":1,"a":2}`)), 400, "body-not-canonical")
	wantProblem(t, s.do(request(secretKey, strings.Repeat(" ", 1<<20+1))), 413, "body-too-large")
	s.wantRuns(0)
	s.wantState(0)
}

// TestWrapTellsTheHandler what it needs for a fence of its own, and gives it the
// body that was compared.
func TestWrapTellsTheHandler(t *testing.T) {
	t.Parallel()
	var running refrain.Running
	var ok bool
	var body []byte
	s := wrap(t, guard, orders, func(w http.ResponseWriter, r *http.Request) {
		running, ok = refrain.CallFrom(r.Context())
		body, _ = io.ReadAll(r.Body)
	})
	ref := s.post().Header.Get("Idempotency-Ref")
	if rec := s.record(); !ok || running.Ref != ref || running.Attempt != 1 || running.Fence != rec.Fence || running.Fence == 0 ||
		running.Scope != north || running.Operation != orders.Operation {
		t.Errorf("running = %+v", running)
	}
	if string(body) != smallOrder {
		t.Errorf("body = %q", body)
	}
}

func TestWrapPanicsAtStart(t *testing.T) {
	t.Parallel()
	rerun, short, safe := orders, orders, orders
	rerun.RerunLost = true
	short.Lease = 1
	safe.Methods = []string{"GET"}
	h := http.HandlerFunc(charge)
	store := wrap(t, guard, orders, charge).db
	for name, start := range map[string]func(){
		"no store":     func() { refrainhttp.Wrap(guard, nil, orders, h) },
		"no handler":   func() { refrainhttp.Wrap(guard, store, orders, nil) },
		"no principal": func() { refrainhttp.Wrap(refrainhttp.Guard{}, store, orders, h) },
		"no contract":  func() { refrainhttp.Wrap(guard, store, refrain.Contract{}, h) },
		"short lease":  func() { refrainhttp.Wrap(guard, store, short, h) },
		"safe method":  func() { refrainhttp.Wrap(guard, store, safe, h) },
		"Handle rerun": func() { refrainhttp.Handle(guard, store, rerun, place) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			start()
		}()
	}
	refrainhttp.Wrap(guard, store, rerun, h)
}
