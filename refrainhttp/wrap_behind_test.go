package refrainhttp_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

// TestGuardBehind: a guard behind this one that does not know the outcome yet
// has not refused the action.
func TestGuardBehind(t *testing.T) {
	t.Parallel()
	for status, want := range map[string]record.State{
		"in-progress": record.Unknown, "outcome-unknown": record.Unknown, "key-reused": record.Rejected, "": record.Rejected,
	} {
		s := wrap(t, guard, hasty(), func(w http.ResponseWriter, _ *http.Request) {
			if status != "" {
				w.Header().Set("Idempotency-Status", status)
			}
			w.WriteHeader(http.StatusConflict)
		})
		s.post()
		s.wantState(want)
	}
}

// TestMayReplayDisputed: a dispute shows where the effect can be seen.
func TestMayReplayDisputed(t *testing.T) {
	t.Parallel()
	g := guard
	g.MayReplay = func(*http.Request, refrain.Outcome) bool { return false }
	s := wrap(t, g, hasty(), charge)
	s.post()
	err := s.db.Change(context.Background(), secretID, func(seen record.Seen, _ time.Time) (record.Edit, error) {
		next := *seen.Record
		next.Disputed = true
		return record.Edit{Put: &next}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if doc := wantProblem(t, s.post(), 403, "forbidden"); doc.Effect != "" || doc.Ref != "" {
		t.Errorf("the refusal shows %+v", doc)
	}
}

// TestClaimPanics: a store that panics does not use up the scope's room.
func TestClaimPanics(t *testing.T) {
	t.Parallel()
	g := guard
	g.MaxClaimsPerScope = 1
	s := wrap(t, g, hasty(), charge)
	s.store.set(func(func() error) error { panic("store") }, nil)
	func() {
		defer func() { _ = recover() }()
		s.post()
	}()
	s.store.set(nil, nil)
	if res := s.post(); res.StatusCode != http.StatusCreated {
		t.Errorf("after a panic: %d", res.StatusCode)
	}
}

// TestFieldHost: net/http keeps the Host field apart from the others.
func TestFieldHost(t *testing.T) {
	t.Parallel()
	c := hasty()
	c.Fields = []string{"Host"}
	s := wrap(t, guard, c, charge)
	send := func(host string) int {
		r := request(secretKey, smallOrder)
		r.Host = host
		w := httptest.NewRecorder()
		s.http.ServeHTTP(w, r)
		return w.Code
	}
	if one, again, two := send("one.example"), send("one.example"), send("two.example"); one != 201 || again != 201 || two != 422 {
		t.Errorf("one host %d, again %d, another %d; want 201, 201, 422", one, again, two)
	}
}
