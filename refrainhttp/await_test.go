package refrainhttp_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/memstore"
	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/refrainhttp"
)

// accepting is a handler whose effect an external operation is to finish. What it
// writes is no answer.
func (s *desk) accepting(w http.ResponseWriter, r *http.Request, tx memstore.Tx) error {
	rec, _, ok := record.Accept(r.Context())
	if !ok {
		return errors.New("no effect runs here")
	}
	err := s.db.Operations().Add(r.Context(), tx, operation.Operation{Ref: record.NewRef(s.now), Action: rec.Ref, Step: "charge", Provider: "bank", Key: "key"})
	if err != nil {
		return err
	}
	w.Header().Set("X-Draft", "yes")
	w.WriteHeader(http.StatusCreated)
	if _, err := w.Write([]byte("a draft")); err != nil {
		return err
	}
	return put(r, tx)
}

// desk is a shop whose handler accepts, with what Guard.Await does.
type desk struct{ *shop }

func openDesk(t *testing.T, c refrain.Contract, await func(s *desk, ref string, d time.Duration) error) *desk {
	t.Helper()
	s := &desk{shop: &shop{t: t, now: noon}}
	s.db = memstore.New(memstore.Options{Now: s.clock})
	g := guard
	g.Observer, g.Now = s, s.clock
	if await != nil {
		g.Await = func(_ context.Context, ref string, d time.Duration) error { return await(s, ref, d) }
	}
	mux := http.NewServeMux()
	mux.Handle("/orders", refrainhttp.Handle(g, s.db, c, s.accepting))
	s.http = mux
	return s
}

// change writes the waiting record as the settling transaction does.
func (s *desk) change(ref string, edit func(rec *record.Record, now time.Time)) error {
	rec, err := s.db.Find(context.Background(), ref)
	if err != nil {
		return err
	}
	return s.db.Change(context.Background(), rec.Identity, func(seen record.Seen, now time.Time) (record.Edit, error) {
		next := *seen.Record
		edit(&next, now)
		return record.Edit{Put: &next}, nil
	})
}

func (s *desk) settle(ref string, result record.Result) error {
	return s.change(ref, func(rec *record.Record, now time.Time) { rec.Settle(result, now, orders.Policy()) })
}

var paid = record.Result{Status: http.StatusCreated, Header: [][2]string{{"Content-Type", "application/json"}, {"Location", "/orders/17"}}, Body: []byte(`{"paid":true}`)}

// TestAwaitedAnswer: settled in time, the first answer is the stored result, byte
// for byte what repeats get, and no replay.
func TestAwaitedAnswer(t *testing.T) {
	t.Parallel()
	for name, result := range map[string]record.Result{
		"confirmed": paid,
		"rejected":  {Status: http.StatusPaymentRequired, Body: []byte(`{"paid":false}`), Rejected: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openDesk(t, orders, func(s *desk, ref string, d time.Duration) error {
				if d != 2*time.Second {
					t.Errorf("waits for %v, want the contract's Wait", d)
				}
				return s.settle(ref, result)
			})
			first := s.post("k")
			firstBody := text(t, first)
			if first.StatusCode != result.Status || firstBody != string(result.Body) || first.Header.Get("X-Draft") != "" ||
				first.Header.Get("Idempotent-Replayed") != "" || first.Header.Get("Idempotency-Status") != "" {
				t.Errorf("first answer %d %q %v", first.StatusCode, firstBody, first.Header)
			}
			again := s.post("k")
			wantReplay(t, again, result.Status, string(result.Body))
			again.Header.Del("Idempotent-Replayed")
			for name := range again.Header {
				if first.Header.Get(name) != again.Header.Get(name) {
					t.Errorf("%s: %q first, %q replayed", name, first.Header.Get(name), again.Header.Get(name))
				}
			}
			if s.effects() != 1 {
				t.Errorf("%d effects", s.effects())
			}
		})
	}
}

// TestAwaitedTooLong: what is not settled in time is answered 202 and where to
// ask, whatever the contract says of repeats.
func TestAwaitedTooLong(t *testing.T) {
	t.Parallel()
	late := func(*desk, string, time.Duration) error { return errors.New("not settled yet") }
	unknown := func(s *desk, ref string, _ time.Duration) error {
		return errors.Join(late(s, ref, 0), s.change(ref, func(rec *record.Record, _ time.Time) { rec.State = record.Unknown }))
	}
	for name, tt := range map[string]struct {
		async bool
		await func(s *desk, ref string, d time.Duration) error
		state string
		again int
	}{
		"accepted":             {false, late, "accepted", http.StatusConflict},
		"accepted, async":      {true, late, "accepted", http.StatusAccepted},
		"unknown":              {false, unknown, "unknown", http.StatusConflict},
		"unknown, async":       {true, unknown, "unknown", http.StatusAccepted},
		"nobody awaits":        {false, nil, "accepted", http.StatusConflict},
		"nobody awaits, async": {true, nil, "accepted", http.StatusAccepted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := orders
			c.Async, c.Wait = tt.async, -1
			if tt.await != nil {
				c.Wait = time.Second
			}
			s := openDesk(t, c, tt.await)
			first := s.post("k", "Prefer", "wait=1")
			body := text(t, first)
			ref := first.Header.Get("Idempotency-Ref")
			if first.StatusCode != http.StatusAccepted || first.Header.Get("Location") != "/v1/operations/"+ref || !record.ValidRef(ref) ||
				!strings.Contains(body, `"state":"`+tt.state+`"`) || strings.Contains(body, "draft") {
				t.Errorf("first answer %d %s %v", first.StatusCode, body, first.Header)
			}
			if again := s.post("k", "Prefer", "wait=0"); again.StatusCode != tt.again {
				t.Errorf("repeat %d %s", again.StatusCode, text(t, again))
			}
		})
	}
}

func TestAwaitedDispute(t *testing.T) {
	t.Parallel()
	s := openDesk(t, orders, func(s *desk, ref string, _ time.Duration) error {
		return errors.Join(s.settle(ref, paid), s.change(ref, func(rec *record.Record, _ time.Time) { rec.Disputed = true }))
	})
	wantProblem(t, s.post("k"), http.StatusConflict, "outcome-disputed")
}

// TestAwaitedAndForgotten: the request's own action never runs again, even if its
// record is gone before it is answered.
func TestAwaitedAndForgotten(t *testing.T) {
	t.Parallel()
	s := openDesk(t, orders, func(s *desk, ref string, _ time.Duration) error {
		rec, err := s.db.Find(context.Background(), ref)
		if err != nil {
			return err
		}
		return s.db.Change(context.Background(), rec.Identity, func(record.Seen, time.Time) (record.Edit, error) {
			return record.Edit{Remove: true}, nil
		})
	})
	if res := s.post("k"); res.StatusCode != http.StatusAccepted || s.effects() != 1 {
		t.Errorf("answer %d %s, %d effects", res.StatusCode, text(t, res), s.effects())
	}
}

// TestAwaitPreference: a client shortens the waiting and never lengthens it.
func TestAwaitPreference(t *testing.T) {
	t.Parallel()
	for prefer, want := range map[string]time.Duration{"": 2 * time.Second, "wait=1": time.Second, "wait=60": 2 * time.Second, "wait=0": 0} {
		var waited time.Duration
		s := openDesk(t, orders, func(_ *desk, _ string, d time.Duration) error {
			waited = d
			return errors.New("not settled yet")
		})
		var fields []string
		if prefer != "" {
			fields = []string{"Prefer", prefer}
		}
		if s.post("k", fields...); waited != want {
			t.Errorf("Prefer %q: waited %v, want %v", prefer, waited, want)
		}
	}
}

// TestAwaitWithoutKey: an action of its own waits for its operation all the same.
func TestAwaitWithoutKey(t *testing.T) {
	t.Parallel()
	c := orders
	c.KeyOptional = true
	s := openDesk(t, c, func(s *desk, ref string, _ time.Duration) error { return s.settle(ref, paid) })
	res := s.do(httptest.NewRequest("POST", "/orders", strings.NewReader(smallOrder)))
	if body := text(t, res); res.StatusCode != http.StatusCreated || body != string(paid.Body) || s.effects() != 1 {
		t.Errorf("answer %d %s, %d effects", res.StatusCode, body, s.effects())
	}
}
