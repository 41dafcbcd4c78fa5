package refrainhttp_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/memstore"
	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/refrainhttp"
	"github.com/refrain-dev/refrain/upkeep"
)

// secretKey is the key of most cases: no answer may repeat it.
const secretKey = "secret-key-1"

func identity(key string) record.Identity {
	return record.Identity{Scope: north.String(), Operation: "orders.create", Key: key}
}

// tamper changes the record behind secretKey after it was made.
func tamper(s *shop, change func(rec *record.Record)) {
	s.t.Helper()
	s.post(secretKey)
	if err := s.db.Tamper(s.t.Context(), identity(secretKey), change); err != nil {
		s.t.Fatal(err)
	}
}

func unfinished(state record.State, lease time.Duration) func(s *shop) {
	return func(s *shop) {
		tamper(s, func(rec *record.Record) {
			rec.State, rec.Final, rec.ReplayUntil, rec.RememberUntil = state, time.Time{}, time.Time{}, time.Time{}
			if lease != 0 {
				rec.Lease = noon.Add(lease)
			}
		})
	}
}

// TestDecisionTable reaches every refusing row by a request. before says how
// the row is reached; effects counts what was executed in all.
func TestDecisionTable(t *testing.T) {
	t.Parallel()
	noWait := func(c *refrain.Contract) { c.Wait = -1 }
	tests := []struct {
		row, how string
		contract func(c *refrain.Contract)
		before   func(s *shop)
		handler  handler
		send     func(s *shop) *http.Response // nil: secretKey with the small order
		status   int
		problem  string
		effects  int
	}{
		{row: "2", how: "a key born before a fence",
			before: func(s *shop) {
				_, err := s.db.SetFence(s.t.Context(), upkeep.Fence{Until: noon, Reason: "restore", By: "test"})
				if err != nil {
					s.t.Fatal(err)
				}
			},
			send:   func(s *shop) *http.Response { return s.post(keyBornAt(noon.Add(-time.Hour), 1)) },
			status: 412, problem: "retry-too-late"},
		{row: "2", how: "a timed key past its memory (row 8)",
			before: func(s *shop) { s.post(keyBornAt(noon, 1)); s.pass(31 * 24 * time.Hour) },
			send:   func(s *shop) *http.Response { return s.post(keyBornAt(noon, 1)) },
			status: 412, problem: "retry-too-late", effects: 1},
		{row: "2b", how: "a key born in an hour",
			send:   func(s *shop) *http.Response { return s.post(keyBornAt(noon.Add(time.Hour), 1)) },
			status: 400, problem: "key-from-future"},
		{row: "4", how: "another body",
			before: func(s *shop) { s.post(secretKey) },
			send:   func(s *shop) *http.Response { return s.do(request(secretKey, `{"secret":1}`)) },
			status: 422, problem: "key-reused", effects: 1},
		{row: "5", how: "past ReplayFor",
			before: func(s *shop) { s.post(secretKey); s.pass(25 * time.Hour) },
			status: 410, problem: "result-gone", effects: 1},
		{row: "5", how: "past ReplayFor, with the contract's 303",
			contract: func(c *refrain.Contract) { c.SeeOther = true },
			before:   func(s *shop) { s.post(secretKey); s.pass(25 * time.Hour) },
			status:   303, problem: "result-gone", effects: 1},
		{row: "6", how: "accepted, nobody works on it", contract: noWait, before: unfinished(record.Accepted, 0),
			status: 409, problem: "in-progress", effects: 1},
		{row: "6", how: "submitted under a live lease", contract: noWait, before: unfinished(record.Submitted, time.Minute),
			status: 409, problem: "in-progress", effects: 1},
		{row: "7", how: "submitted, the lease ended", before: unfinished(record.Submitted, -time.Minute),
			status: 409, problem: "outcome-unknown", effects: 1},
		{row: "7", how: "unknown", before: unfinished(record.Unknown, 0),
			status: 409, problem: "outcome-unknown", effects: 1},
		{row: "7", how: "disputed",
			before: func(s *shop) { tamper(s, func(rec *record.Record) { rec.Disputed = true }) },
			status: 409, problem: "outcome-disputed", effects: 1},
		{row: "9", how: "the store is closed", before: func(s *shop) { _ = s.db.Close() },
			status: 503, problem: "store-unavailable"},
		{row: "9", how: "COMMIT fails: the 201 is not shown", before: func(s *shop) { s.commit = func() error { return errors.New("disk") } },
			status: 503, problem: "store-unavailable"},
		{row: "11", how: "no key", send: func(s *shop) *http.Response { return s.post("") },
			status: 400, problem: "key-missing"},
		{row: "11", how: "a malformed key", send: func(s *shop) *http.Response { return s.post(`"secret`) },
			status: 400, problem: "key-invalid"},
		{row: "11", how: "an untimed key where a time is required",
			contract: func(c *refrain.Contract) { c.KeyTime = refrain.KeyTimeRequired },
			status:   400, problem: "key-invalid"},
		{row: "12", how: "no credentials", send: func(s *shop) *http.Response { return s.post(secretKey, "Authorization", "nobody") },
			status: 401, problem: "principal-missing"},
		{row: "12", how: "not allowed", send: func(s *shop) *http.Response { return s.post(secretKey, "Authorization", "guest") },
			status: 403, problem: "forbidden"},
		{row: "12", how: "the principal function fails", send: func(s *shop) *http.Response { return s.post(secretKey, "Authorization", "outage") },
			status: 503, problem: "principal-unavailable"},
		{row: "12", how: "an empty scope", send: func(s *shop) *http.Response { return s.post(secretKey, "Authorization", "empty") },
			status: 503, problem: "principal-unavailable"},
		{row: "12", how: "a scope the contract does not declare",
			contract: func(c *refrain.Contract) { c.Dimensions = []string{"tenant", "region"} },
			status:   503, problem: "principal-unavailable"},
		{row: "13", how: "a body over MaxBody", contract: func(c *refrain.Contract) { c.MaxBody = 8 },
			status: 413, problem: "body-too-large"},
		{row: "13", how: "a name twice",
			send:   func(s *shop) *http.Response { return s.do(request(secretKey, `{"secret":1,"secret":2}`)) },
			status: 400, problem: "body-not-canonical"},
		{row: "14", how: "the handler outruns MaxExecution", contract: func(c *refrain.Contract) { c.MaxExecution = time.Millisecond },
			handler: overrun, status: 503, problem: "not-executed"},
		{row: "14", how: "the fifth time in a row", contract: func(c *refrain.Contract) { c.MaxExecution = time.Millisecond },
			before:  func(s *shop) { s.post(secretKey); s.post(secretKey); s.post(secretKey); s.post(secretKey) },
			handler: overrun, status: 500, problem: "not-executed"},
		{row: "15", how: "an answer over MaxResponse", contract: func(c *refrain.Contract) { c.MaxResponse = 8 },
			status: 500, problem: "response-too-large"},
		{row: "15", how: "an undeclared 404 after writes",
			handler: func(w http.ResponseWriter, r *http.Request, tx memstore.Tx) error {
				err := put(r, tx)
				w.WriteHeader(404)
				return err
			},
			status: 500, problem: "answer-undeclared"},
		{row: "16", how: "a record that cannot be decoded",
			before: func(s *shop) { tamper(s, func(rec *record.Record) { rec.Format = 0 }) },
			status: 500, problem: "record-unreadable", effects: 1},
	}
	for _, tt := range tests {
		t.Run(tt.row+" "+tt.how, func(t *testing.T) {
			t.Parallel()
			c := orders
			if tt.contract != nil {
				tt.contract(&c)
			}
			h := tt.handler
			if h == nil {
				h = place
			}
			s := open(t, c, h)
			if tt.before != nil {
				tt.before(s)
			}
			var res *http.Response
			if tt.send != nil {
				res = tt.send(s)
			} else {
				res = s.post(secretKey)
			}
			doc := wantProblem(t, res, tt.status, tt.problem)
			s.wantEffects(tt.effects)
			wantRowDetails(t, tt.row, res, doc)
		})
	}
}

func overrun(_ http.ResponseWriter, r *http.Request, tx memstore.Tx) error {
	if err := put(r, tx); err != nil {
		return err
	}
	<-r.Context().Done()
	return r.Context().Err()
}

// wantRowDetails checks what one row's answer has beyond every problem's.
func wantRowDetails(t *testing.T, row string, res *http.Response, doc problem) {
	t.Helper()
	asks := doc.StatusURL == "/v1/operations?operation=orders.create"
	switch row {
	case "2", "2b":
		if !asks || doc.KeyTime == "" || res.Header.Get("Date") == "" {
			t.Errorf("no key time, Date or way to ask: %+v %v", doc, res.Header)
		}
	case "5":
		if doc.Ref == "" || doc.State != "confirmed" || doc.Effect != "/orders/17" || doc.Ref != res.Header.Get("Idempotency-Ref") ||
			res.Header.Get("Content-Location") != "/v1/operations/"+doc.Ref || res.Header.Get("Idempotency-Remembered") == "" {
			t.Errorf("row 5 = %+v %v", doc, res.Header)
		}
		if doc.Status == 303 && res.Header.Get("Location") != "/orders/17" {
			t.Errorf("Location = %q", res.Header.Get("Location"))
		}
	case "4":
		if doc.Ref == "" || doc.State != "" || doc.Effect != "" {
			t.Errorf("row 4 = %+v", doc)
		}
	case "11", "13":
		if !asks || !strings.Contains(doc.Detail, "says nothing about an earlier request") {
			t.Errorf("row %s = %+v", row, doc)
		}
	case "12":
		if doc.StatusURL != "" || (doc.Status == 401) != (res.Header.Get("WWW-Authenticate") == "Bearer") {
			t.Errorf("row 12 = %+v %v", doc, res.Header)
		}
	}
	if doc.Title == "The handler wrote data but did not declare its answer; the action was rolled back" {
		for _, word := range []string{"404", "refrainhttp.Record(w)", "refrainhttp.Refuse(w)"} {
			if !strings.Contains(doc.Detail, word) {
				t.Errorf("detail %q does not name %s", doc.Detail, word)
			}
		}
	}
}

// TestRow1And3And8 is the way without a refusal: executed, replayed, and past
// an untimed key's memory executed anew.
func TestRow1And3And8(t *testing.T) {
	t.Parallel()
	s := open(t, orders, place)
	first := s.post(secretKey)
	body := text(t, first)
	if first.StatusCode != 201 || first.Header.Get("Idempotent-Replayed") != "" {
		t.Fatalf("first = %d %v", first.StatusCode, first.Header)
	}
	ref := first.Header.Get("Idempotency-Ref")
	if !record.ValidRef(ref) || !strings.Contains(body, ref) {
		t.Errorf("ref = %q, body %s", ref, body)
	}
	if e, m := first.Header.Get("Idempotency-Expires"), first.Header.Get("Idempotency-Remembered"); e != "@1773576000" || m != "@1776081600" {
		t.Errorf("deadlines = %q, %q", e, m)
	}
	s.pass(time.Hour)
	again := s.post(secretKey)
	wantReplay(t, again, 201, body)
	for _, name := range []string{"Idempotency-Ref", "Idempotency-Expires", "Idempotency-Remembered", "Location", "Content-Type"} {
		if first.Header.Get(name) != again.Header.Get(name) || again.Header.Get(name) == "" {
			t.Errorf("%s: first %q, replay %q", name, first.Header.Get(name), again.Header.Get(name))
		}
	}
	if again.Header.Get("Date") != "Sat, 14 Mar 2026 13:00:00 GMT" || again.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("replay's header = %v", again.Header)
	}
	s.pass(40 * 24 * time.Hour)
	anew := s.post(secretKey)
	if anew.StatusCode != 201 || anew.Header.Get("Idempotency-Ref") == ref {
		t.Errorf("past the memory = %d %v", anew.StatusCode, anew.Header)
	}
	s.wantEffects(2)
}

func TestRow6aHeld(t *testing.T) {
	t.Parallel()
	begun, finish := make(chan struct{}), make(chan struct{})
	s := open(t, orders, func(w http.ResponseWriter, r *http.Request, tx memstore.Tx) error {
		close(begun)
		<-finish
		return place(w, r, tx)
	})
	first := make(chan *http.Response)
	go func() { first <- s.post(secretKey) }()
	<-begun
	wantProblem(t, s.post(secretKey, "Prefer", "respond-async, wait=0"), 409, "in-progress")
	wantProblem(t, s.do(request(secretKey, `{"other":1}`, "Prefer", `wait="0"`)), 409, "in-progress")
	close(finish)
	body := text(t, <-first)
	wantReplay(t, s.post(secretKey), 201, body)
	s.wantEffects(1)
}

func TestRow6bAsync(t *testing.T) {
	t.Parallel()
	c := orders
	c.Async = true
	for state, status := range map[record.State]string{record.Accepted: "in-progress", record.Unknown: "outcome-unknown"} {
		s := open(t, c, place)
		unfinished(state, 0)(s)
		res := s.post(secretKey)
		body := text(t, res)
		ref := res.Header.Get("Idempotency-Ref")
		if res.StatusCode != 202 || res.Header.Get("Location") != "/v1/operations/"+ref || res.Header.Get("Idempotency-Status") != status ||
			!strings.Contains(body, `"state":"`+state.String()+`"`) {
			t.Errorf("%v = %d %v %s", state, res.StatusCode, res.Header, body)
		}
		s.wantEffects(1)
	}
}

// broken is an executor that answers everything with one error.
type broken struct{ err error }

func (b broken) Execute(context.Context, refrain.Call, func(context.Context, memstore.Tx) (refrain.Result, error)) (refrain.Outcome, error) {
	return refrain.Outcome{}, b.err
}

func TestEngineErrors(t *testing.T) {
	t.Parallel()
	tests := []struct {
		err        error
		status     int
		problem    string
		retryAfter string
	}{
		{&record.Error{Problem: record.CommitUnknown, Row: "10", RetryAfter: 1500 * time.Millisecond}, 503, "commit-unknown", "2"},
		{&record.Error{Problem: record.ContractChanged, Row: "9"}, 503, "contract-changed", "1"},
		{refrain.ErrNested, 500, "handler-failed", ""},
		{&record.Error{Problem: record.HandlerFailed}, 500, "handler-failed", ""},
	}
	for _, tt := range tests {
		s := &shop{t: t, http: refrainhttp.Handle(guard, broken{tt.err}, orders, place)}
		res := s.post(secretKey)
		wantProblem(t, res, tt.status, tt.problem)
		if got := res.Header.Get("Retry-After"); got != tt.retryAfter {
			t.Errorf("%s: Retry-After = %q, want %q", tt.problem, got, tt.retryAfter)
		}
	}
}
