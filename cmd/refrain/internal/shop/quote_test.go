package shop

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/refrain-dev/refrain/record"
)

func (s *Shop) asksQuote(t *testing.T, token, key, body string) *httptest.ResponseRecorder {
	t.Helper()
	return s.answers(t, request{"POST", "/v1/quotes", "Bearer " + token, key, "application/json", body})
}

type quoteList struct {
	Count  int
	Quotes []quote
}

func (s *Shop) listedQuotes(t *testing.T, token string) quoteList {
	t.Helper()
	return decode[quoteList](t, s.get(t, token, "/v1/quotes"), http.StatusOK)
}

// state is what asking by key says about a quote.
func (s *Shop) state(t *testing.T, key string) string {
	t.Helper()
	w := s.answers(t, request{method: "GET", target: "/v1/operations?operation=quotes.create", token: "Bearer " + north, key: key})
	if w.Code == http.StatusNotFound {
		return ""
	}
	return decode[struct{ State string }](t, w, http.StatusOK).State
}

// resolve decides by hand that the action happened.
func (s *Shop) resolve(t *testing.T, ref string, status int) {
	t.Helper()
	ctx := context.Background()
	rec, err := s.db.Find(ctx, ref)
	if err != nil {
		t.Fatalf("%q: %v", ref, err)
	}
	err = s.db.Change(ctx, rec.Identity, func(seen record.Seen, now time.Time) (record.Edit, error) {
		return record.Resolve(seen, now, record.Result{Status: status}, usual.quotes().Policy(), "support", "the quote carries this ref")
	})
	if err != nil {
		t.Fatal(err)
	}
}

// wantProblemRef demands a guard's problem with a ref, and returns that.
func wantProblemRef(t *testing.T, w *httptest.ResponseRecorder, name string) string {
	t.Helper()
	wantProblem(t, w, http.StatusConflict, name)
	var doc struct{ Ref string }
	if err := json.Unmarshal(w.Body.Bytes(), &doc); err != nil || doc.Ref == "" {
		t.Errorf("no ref in %s", w.Body)
	}
	if w.Header().Get("Retry-After") == "" || w.Header().Get("Idempotency-Status") != name {
		t.Errorf("header %v", w.Header())
	}
	return doc.Ref
}

func TestQuoteAndItsReplay(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	first := s.asksQuote(t, north, "q", `{"text":"Less is more"}`)
	made := decode[quote](t, first, http.StatusCreated)
	if made.Text != "Less is more" || first.Header().Get("Location") != "/v1/quotes/"+made.ID || made.Ref != first.Header().Get("Idempotency-Ref") {
		t.Errorf("answered %+v with %v", made, first.Header())
	}
	again := s.asksQuote(t, north, "q", `{ "text": "Less is more" }`)
	if again.Code != http.StatusCreated || again.Body.String() != first.Body.String() || again.Header().Get("Idempotent-Replayed") != "true" {
		t.Errorf("the repeat got %d %s", again.Code, again.Body)
	}
	wantProblem(t, s.asksQuote(t, north, "q", `{"text":"Less is less"}`), http.StatusUnprocessableEntity, "key-reused")
	wantStatus(t, s.asksQuote(t, south, "q", `{"text":"Less is more"}`), http.StatusCreated)
	if list := s.listedQuotes(t, north); list.Count != 1 || len(list.Quotes) != 1 || list.Quotes[0] != made {
		t.Errorf("listed %+v", list)
	}
	if got := decode[quote](t, s.get(t, north, "/v1/quotes/"+made.ID), http.StatusOK); got != made {
		t.Errorf("read %+v, want %+v", got, made)
	}
	wantProblem(t, s.get(t, south, "/v1/quotes/"+made.ID), http.StatusNotFound, "not-found")
	if empty := s.get(t, north, "/v1/quotes?limit=0"); empty.Code != http.StatusBadRequest {
		t.Errorf("limit=0 answered %d", empty.Code)
	}
}

// TestInvalidQuotesNeverBecomeRecords: validation stands outside of the guard.
func TestInvalidQuotesNeverBecomeRecords(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for i, body := range []string{
		`{}`, `[]`, `{"text":""}`, `{"text":7}`, `{"Text":"A"}`, `{"text":"A","note":1}`, `{"text":"` + strings.Repeat("x", maxText+1) + `"}`,
		`{"text":"A","delay_ms":-1}`, `{"text":"A","delay_ms":0.5}`, `{"text":"A","delay_ms":"1"}`, `{"text":"A","delay_ms":3600001}`,
		`{"text":"A","fail":""}`, `{"text":"A","fail":"never"}`, `{"text":"A","fail":true}`,
	} {
		key := fmt.Sprint("k", i)
		w := s.asksQuote(t, north, key, body)
		if doc := wantProblem(t, w, http.StatusBadRequest, "invalid-quote"); doc.Retryable {
			t.Errorf("%s is said to be retryable", body)
		}
		if w.Header().Get("Idempotency-Ref") != "" || s.state(t, key) != "" {
			t.Errorf("%s has a record", body)
		}
	}
	wantProblem(t, s.asksQuote(t, north, "long", `{"text":"`+strings.Repeat("x", maxQuoteBody)+`"}`), http.StatusRequestEntityTooLarge, "too-long")
	wantProblem(t, s.answers(t, request{"POST", "/v1/quotes", "Bearer " + north, "media", "text/plain", `{"text":"A"}`}), http.StatusUnsupportedMediaType, "unsupported-media-type")
	recs, err := s.db.List(context.Background(), record.Record{}, 10)
	if err != nil || len(recs) != 0 {
		t.Errorf("%d records, %v", len(recs), err)
	}
	wantStatus(t, s.asksQuote(t, north, "k0", `{"text":"A","delay_ms":1e0}`), http.StatusCreated)
}

// TestQuoteThatFails: whichever way it fails, nothing runs again, and asking by
// key agrees at every step; a person's decision is what the next retry gets.
func TestQuoteThatFails(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		fail   failure
		status int // 0: the connection ends without an answer
		rows   int
	}{
		{failBefore, http.StatusInternalServerError, 0},
		{failAfter, http.StatusInternalServerError, 1},
		{failPanic, 0, 1},
		{failHang, http.StatusInternalServerError, 0},
	} {
		t.Run(string(tt.fail), func(t *testing.T) {
			t.Parallel()
			config := usual
			config.MaxExecution = 300 * time.Millisecond
			s := openShop(t, newFile(t), config)
			body := `{"text":"A","fail":"` + string(tt.fail) + `"}`
			first, panicked := s.asksQuoteThatMayPanic(t, "q", body)
			if panicked != (tt.status == 0) || !panicked && first.Code != tt.status {
				t.Fatalf("the first answer is %d %s, panicked %t", first.Code, first.Body, panicked)
			}
			ref := wantProblemRef(t, s.asksQuote(t, north, "q", body), "outcome-unknown")
			if s.state(t, "q") != "unknown" {
				t.Errorf("asked by key: %q", s.state(t, "q"))
			}
			list := s.listedQuotes(t, north)
			if list.Count != tt.rows || tt.rows == 1 && list.Quotes[0].Ref != ref {
				t.Errorf("quotes %+v, want %d with ref %s", list, tt.rows, ref)
			}
			s.resolve(t, ref, http.StatusCreated)
			again := s.asksQuote(t, north, "q", body)
			if again.Code != http.StatusCreated || again.Header().Get("Idempotent-Replayed") != "true" || again.Header().Get("Idempotency-Ref") != ref {
				t.Errorf("after the decision: %d %v", again.Code, again.Header())
			}
			if s.state(t, "q") != "confirmed" || s.listedQuotes(t, north).Count != tt.rows {
				t.Errorf("after the decision: state %q, %+v", s.state(t, "q"), s.listedQuotes(t, north))
			}
		})
	}
}

func (s *Shop) asksQuoteThatMayPanic(t *testing.T, key, body string) (w *httptest.ResponseRecorder, panicked bool) {
	t.Helper()
	defer func() {
		if cause := recover(); cause != nil {
			if panicked = cause == http.ErrAbortHandler; !panicked {
				panic(cause)
			}
		}
	}()
	return s.asksQuote(t, north, key, body), false
}

// TestQuoteDelayEndsWithItsContext: the bound of the contract is what ends it.
func TestQuoteDelayEndsWithItsContext(t *testing.T) {
	t.Parallel()
	config := usual
	config.MaxExecution = 100 * time.Millisecond
	s := openShop(t, newFile(t), config)
	began := time.Now()
	wantProblem(t, s.asksQuote(t, north, "q", `{"text":"A","delay_ms":3600000}`), http.StatusInternalServerError, "quote-failed")
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("it took %v", took)
	}
	if s.state(t, "q") != "unknown" {
		t.Errorf("state %q", s.state(t, "q"))
	}
}
