package refrainhttp_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/memstore"
	"github.com/refrain-dev/refrain/record"
)

func observing() refrain.Contract {
	c := orders
	c.Observe, c.Wait = true, -1
	return c
}

// TestObserve: every request is executed, and marked with what would have been.
func TestObserve(t *testing.T) {
	t.Parallel()
	s := open(t, observing(), place)
	duplicate := `{"sku":"A","sku":"B"}`
	steps := []struct {
		name string
		send func() *http.Response
		mark string
	}{
		{"fresh", func() *http.Response { return s.post("k") }, "would-execute"},
		{"repeat", func() *http.Response { return s.post("k") }, "would-replay"},
		{"again", func() *http.Response { return s.post("k") }, "would-replay"},
		{"other body", func() *http.Response { return s.do(request("k", `{"other":1}`)) }, "would-refuse key-reused"},
		{"no key", func() *http.Response { return s.post("") }, "would-refuse key-missing"},
		{"bad key", func() *http.Response { return s.post(`"k`) }, "would-refuse key-invalid"},
		{"bad body", func() *http.Response { return s.do(request("l", duplicate)) }, "would-refuse body-not-canonical"},
		{"future key", func() *http.Response { return s.post(keyBornAt(noon.Add(time.Hour), 1)) }, "would-refuse key-from-future"},
		{"past replay", func() *http.Response { s.pass(25 * time.Hour); return s.post("k") }, "would-refuse result-gone"},
	}
	for i, step := range steps {
		res := step.send()
		if got := res.Header.Get("Idempotency-Observed"); res.StatusCode != 201 || got != step.mark {
			t.Errorf("%s = %d %q, want %q", step.name, res.StatusCode, got, step.mark)
		}
		for _, name := range []string{"Idempotent-Replayed", "Idempotency-Ref", "Idempotency-Expires", "Idempotency-Status"} {
			if res.Header.Get(name) != "" {
				t.Errorf("%s: an observed answer has %s", step.name, name)
			}
		}
		s.wantEffects(i + 1)
	}
	if !s.saw("11", record.KeyMissing) || !s.saw("13", record.BodyNotCanonical) {
		t.Errorf("not counted: %v", s.events)
	}
}

// TestObserveLetsAnswersThrough: what enforcement would refuse afterwards.
func TestObserveLetsAnswersThrough(t *testing.T) {
	t.Parallel()
	s := open(t, observing(), answer(404, "no such sku", put))
	res := s.post("k")
	if body := text(t, res); res.StatusCode != 404 || body != "no such sku" || res.Header.Get("Idempotency-Observed") != "would-refuse answer-undeclared" {
		t.Errorf("undeclared = %d %q %v", res.StatusCode, body, res.Header)
	}
	if s.wantEffects(0); !s.saw("15", record.AnswerUndeclared) {
		t.Errorf("not counted: %v", s.events)
	}
	c := observing()
	c.MaxResponse = 4
	s = open(t, c, answer(200, "longer than four", put))
	if res := s.post("k"); res.StatusCode != 200 || text(t, res) != "longer than four" || res.Header.Get("Idempotency-Observed") != "would-refuse response-too-large" {
		t.Errorf("large = %d %v", res.StatusCode, res.Header)
	}
	s.wantEffects(1)
	s = open(t, observing(), func(http.ResponseWriter, *http.Request, memstore.Tx) error { return errors.New("no") })
	wantProblem(t, s.post("k"), 500, "handler-failed")
	wantProblem(t, s.post("k", "Authorization", "nobody"), 401, "principal-missing")
	_ = s.db.Close()
	wantProblem(t, s.post("k"), 503, "store-unavailable")
}

// TestObserveHandsOverTheBody: as it came, also past the limit or cut short.
func TestObserveHandsOverTheBody(t *testing.T) {
	t.Parallel()
	c := observing()
	c.MaxBody = 8
	s := open(t, c, func(w http.ResponseWriter, r *http.Request, tx memstore.Tx) error {
		body, err := io.ReadAll(r.Body)
		fmt.Fprint(w, len(body), " ", r.ContentLength, " ", errors.Is(err, io.ErrUnexpectedEOF))
		return nil
	})
	tests := []struct {
		body io.Reader
		want string
		mark string
	}{
		{strings.NewReader("12345678"), "8 8 false", "would-execute"},
		{strings.NewReader(strings.Repeat("x", 100_000)), "100000 100000 false", "would-refuse body-too-large"},
		{io.MultiReader(strings.NewReader("123"), cut{}), "3 -1 true", "would-refuse body-not-canonical"},
		{io.MultiReader(strings.NewReader(strings.Repeat("x", 20)), cut{}), "20 -1 true", "would-refuse body-too-large"},
	}
	for i, tt := range tests {
		r := httptest.NewRequest("POST", "/orders", tt.body)
		r.Header.Set("Idempotency-Key", fmt.Sprint("k", i))
		res := s.do(r)
		if got := text(t, res); got != tt.want || res.Header.Get("Idempotency-Observed") != tt.mark {
			t.Errorf("%d: handler saw %s, marked %q; want %s, %q", i, got, res.Header.Get("Idempotency-Observed"), tt.want, tt.mark)
		}
	}
}

// cut is a body that ends early.
type cut struct{}

func (cut) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestOptionalKey(t *testing.T) {
	t.Parallel()
	for _, kt := range []refrain.KeyTime{refrain.KeyTimeByShape, refrain.KeyTimeULID, refrain.KeyTimeNone, refrain.KeyTimeRequired} {
		c := orders
		c.KeyOptional, c.KeyTime = true, kt
		s := open(t, c, place)
		for range 2 {
			res := s.post("")
			if res.StatusCode != 201 || res.Header.Get("Idempotency-Ref") != "" || res.Header.Get("Idempotency-Observed") != "" {
				t.Errorf("key time %v: %d %v", kt, res.StatusCode, res.Header)
			}
		}
		s.wantEffects(2)
		if !s.saw("11", "") {
			t.Error("passing without a key is not counted")
		}
		for _, empty := range []string{" ", `""`, `"`} {
			wantProblem(t, s.post(empty), 400, "key-invalid")
		}
		key := s.newest().Identity.Key
		if born, timed := kt.Birth(key); timed != (kt != refrain.KeyTimeNone) || timed && !born.Equal(noon) {
			t.Errorf("key time %v: the fresh key %s was born %v", kt, key, born)
		}
	}
}

func (s *shop) newest() record.Record {
	s.t.Helper()
	records, err := s.db.List(s.t.Context(), record.Record{}, 1)
	if err != nil || len(records) != 1 {
		s.t.Fatalf("List = %d, %v", len(records), err)
	}
	return records[0]
}
