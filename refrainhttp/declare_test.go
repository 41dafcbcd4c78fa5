package refrainhttp_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/memstore"
	"github.com/refrain-dev/refrain/refrainhttp"
)

// wrapped is middleware inside the guard: declarations must see through it.
type wrapped struct{ http.ResponseWriter }

func (w wrapped) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func TestDeclarations(t *testing.T) {
	t.Parallel()
	declined := errors.New("the card was declined")
	tests := []struct {
		name     string
		contract func(c *refrain.Contract)
		handler  handler
		status   int
		body     string // of the first answer, "" for a problem
		problem  string
		recorded bool
		effects  int // after two equal requests
	}{
		{name: "200 by default", status: 200, recorded: true, effects: 1,
			handler: func(w http.ResponseWriter, r *http.Request, tx memstore.Tx) error { return put(r, tx) }},
		{name: "302", status: 302, body: "there", recorded: true, effects: 1, handler: answer(302, "there", put)},
		{name: "303", status: 303, body: "there", recorded: true, effects: 1, handler: answer(303, "there", put)},
		{name: "307 undeclared, nothing written", status: 307, body: "there", handler: answer(307, "there", nil)},
		{name: "404 undeclared, nothing written", status: 404, body: "no such sku", handler: answer(404, "no such sku", nil)},
		{name: "404 undeclared after writes", status: 500, problem: "answer-undeclared", handler: answer(404, "no", put)},
		{name: "404 undeclared after writes, SendUndeclared", status: 404, body: "no",
			contract: func(c *refrain.Contract) { c.SendUndeclared = true }, handler: answer(404, "no", put)},
		{name: "Record keeps writes and answer", status: 409, body: "waitlisted", recorded: true, effects: 1,
			handler: func(w http.ResponseWriter, r *http.Request, tx memstore.Tx) error {
				refrainhttp.Record(wrapped{w})
				return answer(409, "waitlisted", put)(w, r, tx)
			}},
		{name: "Refuse keeps the answer, not the writes", status: 402, body: "declined", recorded: true,
			handler: func(w http.ResponseWriter, r *http.Request, tx memstore.Tx) error {
				refrainhttp.Refuse(wrapped{w})
				return answer(402, "declined", put)(w, r, tx)
			}},
		{name: "Reject with an answer", status: 402, body: "declined", recorded: true,
			handler: func(w http.ResponseWriter, r *http.Request, tx memstore.Tx) error {
				_ = answer(402, "declined", put)(w, r, tx)
				return refrain.Reject(declined)
			}},
		{name: "Reject without one", status: 422, recorded: true,
			body: `{"type":"about:blank","title":"Unprocessable Entity","status":422,"detail":"the card was declined"}`,
			handler: func(w http.ResponseWriter, r *http.Request, tx memstore.Tx) error {
				w.Header().Set("Location", "/nowhere")
				_ = put(r, tx)
				return refrain.Reject(declined)
			}},
		{name: "Record after the status", status: 500, problem: "answer-undeclared",
			handler: func(w http.ResponseWriter, r *http.Request, tx memstore.Tx) error {
				err := answer(201, "done", put)(w, r, tx)
				refrainhttp.Record(w)
				return err
			}},
		{name: "Refuse after the status", status: 500, problem: "answer-undeclared",
			handler: func(w http.ResponseWriter, r *http.Request, tx memstore.Tx) error {
				err := answer(201, "done", put)(w, r, tx)
				refrainhttp.Refuse(w)
				return err
			}},
		{name: "an error", status: 500, problem: "handler-failed",
			handler: func(w http.ResponseWriter, r *http.Request, tx memstore.Tx) error {
				_ = put(r, tx)
				return errors.New("secret reason")
			}},
		{name: "an error after 201", status: 500, problem: "handler-failed",
			handler: func(w http.ResponseWriter, r *http.Request, tx memstore.Tx) error {
				_ = answer(201, "done", put)(w, r, tx)
				return errors.New("secret reason")
			}},
		{name: "an error after 503 is the handler's answer", status: 503, body: "try later",
			handler: func(w http.ResponseWriter, r *http.Request, tx memstore.Tx) error {
				_ = answer(503, "try later", put)(w, r, tx)
				return errors.New("secret reason")
			}},
		{name: "a declared length that was not written", status: 500, problem: "handler-failed",
			handler: func(w http.ResponseWriter, r *http.Request, tx memstore.Tx) error {
				w.Header().Set("Content-Length", "100")
				return answer(200, "short", put)(w, r, tx)
			}},
		{name: "an event stream", status: 500, problem: "response-not-recordable",
			handler: func(w http.ResponseWriter, r *http.Request, tx memstore.Tx) error {
				w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
				return answer(200, "data: 1\n\n", put)(w, r, tx)
			}},
		{name: "a hijack", status: 500, problem: "response-not-recordable",
			handler: func(w http.ResponseWriter, r *http.Request, tx memstore.Tx) error {
				_ = put(r, tx)
				_, _, err := http.NewResponseController(wrapped{w}).Hijack()
				if !errors.Is(err, http.ErrNotSupported) {
					t.Errorf("Hijack = %v", err)
				}
				return nil
			}},
		{name: "an upgrade", status: 500, problem: "response-not-recordable", handler: answer(101, "", put)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := orders
			if tt.contract != nil {
				tt.contract(&c)
			}
			s := open(t, c, tt.handler)
			for attempt := range 2 {
				res := s.post(secretKey)
				switch {
				case tt.problem != "":
					wantProblem(t, res, tt.status, tt.problem)
				case attempt == 1 && tt.recorded:
					wantReplay(t, res, tt.status, tt.body)
				default:
					if got := text(t, res); res.StatusCode != tt.status || got != tt.body {
						t.Errorf("answer = %d %q, want %d %q", res.StatusCode, got, tt.status, tt.body)
					}
					if has := res.Header.Get("Idempotency-Ref") != ""; has != tt.recorded {
						t.Errorf("Idempotency-Ref present = %t", has)
					}
					if status := res.Header.Get("Idempotency-Status"); status != "" {
						t.Errorf("a handler's answer has Idempotency-Status %q", status)
					}
				}
			}
			s.wantEffects(tt.effects)
		})
	}
}

// answer is a handler of one fixed answer after write.
func answer(status int, body string, write func(*http.Request, memstore.Tx) error) handler {
	return func(w http.ResponseWriter, r *http.Request, tx memstore.Tx) error {
		if write != nil {
			if err := write(r, tx); err != nil {
				return err
			}
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
		return nil
	}
}

// TestRefusalSticks is one outcome per key: a refusal is not undone by better
// times, and a new key is a new action.
func TestRefusalSticks(t *testing.T) {
	t.Parallel()
	funds := false
	s := open(t, orders, func(w http.ResponseWriter, r *http.Request, tx memstore.Tx) error {
		if !funds {
			refrainhttp.Refuse(w)
			return answer(402, "insufficient funds", put)(w, r, tx)
		}
		return place(w, r, tx)
	})
	s.post("first")
	funds = true
	wantReplay(t, s.post("first"), 402, "insufficient funds")
	if res := s.post("second"); res.StatusCode != 201 {
		t.Errorf("new key = %d", res.StatusCode)
	}
	s.wantEffects(1)
}

func TestEffectReference(t *testing.T) {
	t.Parallel()
	s := open(t, orders, func(w http.ResponseWriter, r *http.Request, tx memstore.Tx) error {
		refrainhttp.SetEffect(wrapped{w}, "charge 17")
		return place(w, r, tx)
	})
	res := s.post(secretKey)
	status := text(t, s.do(httptest.NewRequest("GET", "/v1/operations/"+res.Header.Get("Idempotency-Ref"), nil)))
	if !strings.Contains(status, `"effect":"charge 17"`) {
		t.Errorf("status = %s", status)
	}
	s = open(t, orders, func(w http.ResponseWriter, r *http.Request, tx memstore.Tx) error {
		err := place(w, r, tx)
		refrainhttp.SetEffect(w, "too late")
		return err
	})
	wantProblem(t, s.post(secretKey), 500, "answer-undeclared")
}

func TestDeclarationsElsewhereDoNothing(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	refrainhttp.Record(w)
	refrainhttp.Refuse(w)
	refrainhttp.SetEffect(w, "x")
	if w.Code != 200 || len(w.Header()) != 0 {
		t.Errorf("recorder = %d %v", w.Code, w.Header())
	}
}

// TestResponseWriter is what a handler can do with the writer it gets.
func TestResponseWriter(t *testing.T) {
	t.Parallel()
	s := open(t, orders, func(w http.ResponseWriter, r *http.Request, tx memstore.Tx) error {
		if err := http.NewResponseController(wrapped{w}).Flush(); !errors.Is(err, http.ErrNotSupported) {
			t.Errorf("Flush = %v", err)
		}
		if _, ok := w.(http.Flusher); ok {
			t.Error("the writer is a Flusher")
		}
		if _, ok := w.(interface{ Unwrap() http.ResponseWriter }); ok {
			t.Error("the client's writer can be reached through Unwrap")
		}
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Set("X-Early", "yes")
		w.WriteHeader(201)
		w.WriteHeader(500)
		w.Header().Set("X-Late", "yes")
		n, err := io.Copy(w, bufio.NewReader(strings.NewReader("copied")))
		if n != 6 || err != nil {
			t.Errorf("Copy = %d, %v", n, err)
		}
		return nil
	})
	for range 2 {
		res := s.post(secretKey)
		if body := text(t, res); res.StatusCode != 201 || body != "copied" || res.Header.Get("X-Early") != "yes" || res.Header.Get("X-Late") != "" {
			t.Errorf("answer = %d %q %v", res.StatusCode, body, res.Header)
		}
	}
	s = open(t, orders, func(w http.ResponseWriter, r *http.Request, tx memstore.Tx) error {
		w.WriteHeader(204)
		if _, err := w.Write([]byte("x")); !errors.Is(err, http.ErrBodyNotAllowed) {
			t.Errorf("Write under 204 = %v", err)
		}
		return nil
	})
	if res := s.post(secretKey); res.StatusCode != 204 || res.Header["Content-Length"] != nil {
		t.Errorf("answer = %d %v", res.StatusCode, res.Header)
	}
	s = open(t, orders, func(w http.ResponseWriter, r *http.Request, tx memstore.Tx) error {
		w.Header().Set("Content-Length", "2")
		if _, err := w.Write([]byte("abc")); !errors.Is(err, http.ErrContentLength) {
			t.Errorf("Write over the declared length = %v", err)
		}
		_, err := w.Write([]byte("ab"))
		return err
	})
	if res := s.post(secretKey); text(t, res) != "ab" {
		t.Errorf("answer = %d", res.StatusCode)
	}
}

// deadlines notes what reaches the client's writer.
type deadlines struct {
	*httptest.ResponseRecorder
	reached *int
}

func (d deadlines) SetReadDeadline(time.Time) error  { *d.reached++; return nil }
func (d deadlines) SetWriteDeadline(time.Time) error { *d.reached++; return nil }
func (d deadlines) EnableFullDuplex() error          { *d.reached++; return nil }
func (d deadlines) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	panic("a hijack reached the connection")
}
func (d deadlines) FlushError() error { panic("a flush reached the connection") }

func TestDeadlinesReachTheConnection(t *testing.T) {
	t.Parallel()
	s := open(t, orders, func(w http.ResponseWriter, r *http.Request, tx memstore.Tx) error {
		rc := http.NewResponseController(wrapped{w})
		_ = rc.Flush()
		return errors.Join(rc.SetReadDeadline(noon), rc.SetWriteDeadline(noon), rc.EnableFullDuplex())
	})
	reached := 0
	w := deadlines{httptest.NewRecorder(), &reached}
	s.http.ServeHTTP(w, request(secretKey, smallOrder))
	if reached != 3 || w.Code != 200 {
		t.Errorf("%d of 3 reached the connection, answer %d", reached, w.Code)
	}
}
