package refrainhttp_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/refrainhttp"
)

// other is a request with another key.
func other(key string, fields ...string) *http.Request { return request(key, smallOrder, fields...) }

// TestMaxClaimsPerScope: a scope that has too many actions under way is refused
// with nothing executed; other scopes are not, and neither are replays.
func TestMaxClaimsPerScope(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := guard
		g.MaxClaimsPerScope = 2
		h := newSlow()
		s := wrap(t, g, long(), h.ServeHTTP)
		first := later(s)
		answers := make(chan *http.Response, 2)
		go func() { answers <- s.do(other("b")) }()
		synctest.Wait()
		wantProblem(t, s.do(other("c")), 503, "store-unavailable")
		wantProblem(t, s.post(), 409, "in-progress")
		s.wantRuns(2)
		go func() { answers <- s.do(other("c", "Authorization", "south")) }()
		synctest.Wait()
		s.wantRuns(3)
		for range 3 {
			h.end <- charge
		}
		<-first
		<-answers
		<-answers
		go func() { answers <- s.do(other("c")) }()
		synctest.Wait()
		s.wantRuns(4)
		wantReplay(t, s.post(), 201, "charged")
		h.end <- charge
		<-answers
	})
}

// TestAbandonedHandlersCount among the actions under way until they return.
func TestAbandonedHandlersCount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := guard
		g.MaxClaimsPerScope = 1
		h := newSlow()
		s := wrap(t, g, hasty(), h.ServeHTTP)
		wantProblem(t, s.post(), 409, "outcome-unknown")
		wantProblem(t, s.do(other("b")), 503, "store-unavailable")
		h.end <- charge
		synctest.Wait()
		go func() { h.end <- charge }()
		if res := s.do(other("b")); res.StatusCode != 201 {
			t.Errorf("after it returned: %d", res.StatusCode)
		}
	})
}

// TestMaxWaitersPerScope: beyond it a duplicate is told at once; a request that
// has nobody to wait for is not concerned.
func TestMaxWaitersPerScope(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := guard
		g.MaxWaitersPerScope = 1
		c := long()
		c.Wait = time.Minute
		h := newSlow()
		s := wrap(t, g, c, h.ServeHTTP)
		first := later(s)
		waiter := later(s)
		begun := time.Now()
		wantProblem(t, s.post(), 409, "in-progress")
		if waited := time.Since(begun); waited != 0 {
			t.Errorf("it waited %v", waited)
		}
		fresh := make(chan *http.Response)
		go func() { fresh <- s.do(other("b")) }()
		synctest.Wait()
		s.wantRuns(2)
		h.end <- charge
		h.end <- charge
		<-first
		<-fresh
		wantReplay(t, <-waiter, 201, "charged")
		if again := later(s); (<-again).StatusCode != 201 {
			t.Error("the place of a waiter was not given back")
		}
	})
}

// TestUnboundedScopes: a negative number is no bound.
func TestUnboundedScopes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for bound, want := range map[int]int32{0: refrainhttp.DefaultPerScope, -1: refrainhttp.DefaultPerScope + 5} {
			g := guard
			g.MaxClaimsPerScope = bound
			h := newSlow()
			s := wrap(t, g, long(), h.ServeHTTP)
			for n := range refrainhttp.DefaultPerScope + 5 {
				go s.do(other(keyBornAt(time.Now(), n)))
			}
			synctest.Wait()
			s.wantRuns(want)
			for range want {
				h.end <- charge
			}
		}
	})
}

// TestMayReplay: who may not see an answer gets 403 wherever it would be shown,
// and the action is not repeated.
func TestMayReplay(t *testing.T) {
	t.Parallel()
	g := guard
	g.Actor = func(r *http.Request) string { return r.Header.Get("Actor") }
	g.MayReplay = func(r *http.Request, out refrain.Outcome) bool {
		return out.Actor == r.Header.Get("Actor") && out.Ref != "" && out.State == record.Confirmed
	}
	digest := hasty()
	digest.KeepDigest, digest.MaxResponse = true, 1
	for name, c := range map[string]refrain.Contract{"kept": hasty(), "gone": digest} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := wrap(t, g, c, charge)
			handled := open(t, c, place)
			handled.http = refrainhttp.Handle(g, handled.db, c, place)
			status := refrainhttp.Status(g, s.db, c)
			ask := func(target, actor string) *http.Response {
				r := httptest.NewRequest("GET", target, nil)
				r.Header.Set("Actor", actor)
				r.Header.Set("Idempotency-Key", secretKey)
				w := httptest.NewRecorder()
				status.ServeHTTP(w, r)
				return w.Result()
			}
			ref := s.post("Actor", "ada").Header.Get("Idempotency-Ref")
			handled.post(secretKey, "Actor", "ada")
			for _, res := range []*http.Response{
				s.post("Actor", "bob"), handled.post(secretKey, "Actor", "bob"),
				ask("/v1/operations?operation=orders.create", "bob"), ask("/v1/operations/"+ref, "bob"),
			} {
				doc := wantProblem(t, res, 403, "forbidden")
				if doc.Ref != "" || doc.Effect != "" || res.Header.Get("Idempotency-Ref") != "" {
					t.Errorf("the refusal shows %+v", doc)
				}
			}
			want := map[string]int{"kept": 201, "gone": 410}[name]
			for _, res := range []*http.Response{s.post("Actor", "ada"), handled.post(secretKey, "Actor", "ada")} {
				if res.StatusCode != want {
					t.Errorf("to its actor: %d", res.StatusCode)
				}
			}
			for _, target := range []string{"/v1/operations?operation=orders.create", "/v1/operations/" + ref} {
				if res := ask(target, "ada"); res.StatusCode != 200 {
					t.Errorf("%s to its actor: %d", target, res.StatusCode)
				}
			}
			s.wantRuns(1)
			handled.wantEffects(1)
		})
	}
}

// TestWrapObserves: everything runs, nothing is refused, the first is recorded.
func TestWrapObserves(t *testing.T) {
	t.Parallel()
	s := wrap(t, guard, observing(), charge)
	for i, step := range []struct {
		name string
		send func() *http.Response
		mark string
	}{
		{"fresh", func() *http.Response { return s.post() }, "would-execute"},
		{"repeat", func() *http.Response { return s.post() }, "would-replay"},
		{"other body", func() *http.Response { return s.do(request(secretKey, `{"other":1}`)) }, "would-refuse key-reused"},
		{"no key", func() *http.Response { return s.do(request("", smallOrder)) }, "would-refuse key-missing"},
		{"bad body", func() *http.Response { return s.do(request("l", `{"sku":"A","sku":"B"}`)) }, "would-refuse body-not-canonical"},
		{"store down", func() *http.Response {
			s.store.set(gone, func() error { return errGone })
			defer s.store.set(nil, nil)
			return s.do(other("m"))
		}, "would-refuse store-unavailable"},
	} {
		res := step.send()
		if got := res.Header.Get("Idempotency-Observed"); res.StatusCode != 201 || text(t, res) != "charged" || got != step.mark {
			t.Errorf("%s = %d %q, want %q", step.name, res.StatusCode, got, step.mark)
		}
		for _, name := range []string{"Idempotent-Replayed", "Idempotency-Ref", "Idempotency-Expires", "Idempotency-Status"} {
			if res.Header.Get(name) != "" {
				t.Errorf("%s: an observed answer has %s", step.name, name)
			}
		}
		s.wantRuns(int32(i + 1))
	}
	s.wantState(record.Confirmed)
}

// TestObservedHandlersAreNotBounded: observing changes nothing for a handler that
// takes longer than the contract would let it.
func TestObservedHandlersAreNotBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newSlow()
		h.stops = true
		s := wrap(t, guard, observing(), h.ServeHTTP)
		first := later(s)
		s.store.set(gone, nil)
		time.Sleep(time.Hour)
		s.store.set(nil, nil)
		h.end <- charge
		if res := <-first; res.StatusCode != 201 {
			t.Errorf("answer = %d, the handler's context %v", res.StatusCode, h.cause())
		}
	})
}
