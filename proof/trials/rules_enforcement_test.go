package trials

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/refrain-dev/refrain/refrainhttp"
)

func TestRulesOfEnforcement(t *testing.T) {
	t.Parallel()
	t.Run("five retries are one execution, status, fields and bytes the same", func(t *testing.T) {
		t.Parallel()
		s := open(t, newFile, guard, orders, func(w http.ResponseWriter, r *http.Request, put func() error) error {
			w.Header().Set("ETag", `"v1"`)
			w.Header().Set("Content-Language", "de")
			w.Header().Set("Link", `</terms>; rel="terms-of-service"`)
			return create(w, r, put)
		})
		first := s.post("k", order)
		wantFresh(t, first, 201)
		for range 5 {
			a := s.post("k", order)
			wantReplay(t, a, first)
			for _, name := range []string{"Content-Type", "Location", "ETag", "Content-Language", "Link", "Idempotency-Ref", "Idempotency-Expires", "Idempotency-Remembered"} {
				if a.header.Get(name) == "" || a.header.Get(name) != first.header.Get(name) {
					t.Errorf("%s = %q, first %q", name, a.header.Get(name), first.header.Get(name))
				}
			}
		}
		s.wantEffects(1)
	})
	for _, wait := range []string{"", "wait=0"} {
		t.Run("twenty at once, "+wait, func(t *testing.T) {
			t.Parallel()
			s := open(t, newFile, guard, orders, create)
			start, answers := make(chan struct{}), make([]answer, 20)
			var all sync.WaitGroup
			for i := range answers {
				all.Go(func() {
					<-start
					answers[i], _ = s.try(s.request(t.Context(), "k", order, "Prefer", wait))
				})
			}
			close(start)
			all.Wait()
			fresh := 0
			for _, a := range answers {
				switch {
				case a.status == 201 && !a.replayed():
					fresh++
				case a.status == 201: // a replay: it waited, or came after
				default:
					wantProblem(t, a, 409, "in-progress")
				}
			}
			if fresh != 1 {
				t.Errorf("%d answers were first ones", fresh)
			}
			s.wantEffects(1)
		})
	}
	t.Run("in progress is 409 with Retry-After, and the same request finally succeeds", func(t *testing.T) {
		t.Parallel()
		run := newGate()
		s := open(t, newFile, guard, orders, run.create)
		first := make(chan answer, 1)
		go func() { first <- s.post("k", order) }()
		<-run.inside
		a := s.post("k", order, "Prefer", "wait=0") // 409, which is not 425
		wantDescribed(t, a, wantProblem(t, a, 409, "in-progress"))
		if seconds := a.header.Get("Retry-After"); seconds == "" || strings.Trim(seconds, "0123456789") != "" || seconds == "0" {
			t.Errorf("Retry-After = %q", seconds)
		}
		close(run.goOn)
		wantReplay(t, s.post("k", order), <-first)
		s.wantEffects(1)
	})
	t.Run("a client that aborts after its body", func(t *testing.T) {
		t.Parallel()
		run := newGate()
		s := open(t, newFile, guard, orders, run.create)
		ctx, abort := context.WithCancel(t.Context())
		gone := make(chan struct{})
		go func() { _, _ = s.try(s.request(ctx, "k", order)); close(gone) }()
		<-run.inside
		abort()
		<-gone
		wantProblem(t, s.post("k", order, "Prefer", "wait=0"), 409, "in-progress")
		close(run.goOn)
		if a := s.post("k", order); a.status != 201 || !a.replayed() {
			t.Errorf("retry = %v", a)
		}
		s.wantEffects(1)
	})
	t.Run("what became of a handler's 4xx and 5xx", func(t *testing.T) {
		t.Parallel()
		type finish = func(w http.ResponseWriter, put func() error) error
		answers := func(status int, declare func(http.ResponseWriter), write bool) finish {
			return func(w http.ResponseWriter, put func() error) error {
				if declare != nil {
					declare(w)
				}
				w.WriteHeader(status)
				if write {
					return put()
				}
				return nil
			}
		}
		for _, tt := range []struct {
			name    string
			finish  finish
			status  int
			problem string // instead of the handler's answer
			kept    bool   // replayed rather than run again
			runs    int    // of two requests
			effects int
		}{
			{"Refuse 404", answers(404, refrainhttp.Refuse, true), 404, "", true, 1, 0},
			{"Record 409", answers(409, refrainhttp.Record, true), 409, "", true, 1, 1},
			{"Record 500", answers(500, refrainhttp.Record, true), 500, "", true, 1, 1},
			{"404 without writes", answers(404, nil, false), 404, "", false, 2, 0},
			{"500 without writes", answers(500, nil, false), 500, "", false, 2, 0},
			{"404 after writes", answers(404, nil, true), 500, "answer-undeclared", false, 2, 0},
			{"500 after writes", answers(500, nil, true), 500, "answer-undeclared", false, 2, 0},
			{"an error after writes", func(_ http.ResponseWriter, put func() error) error { return errors.Join(put(), fmt.Errorf("late")) },
				500, "handler-failed", false, 2, 0},
		} {
			runs := 0
			s := open(t, newFile, guard, orders, func(w http.ResponseWriter, r *http.Request, put func() error) error {
				runs++
				return tt.finish(w, put)
			})
			for n := range 2 {
				if a := s.post("k", order); a.status != tt.status || a.problem() != tt.problem || a.replayed() != (tt.kept && n > 0) {
					t.Errorf("%s: answer %d = %v", tt.name, n, a)
				}
			}
			if runs != tt.runs {
				t.Errorf("%s ran %d times", tt.name, runs)
			}
			s.wantEffects(tt.effects)
		}
	})
	t.Run("what is stopped before execution does not use the key up", func(t *testing.T) {
		t.Parallel()
		c := orders
		c.MaxBody = 100
		stop := 0
		s := open(t, newFile, guard, c, func(w http.ResponseWriter, r *http.Request, put func() error) error {
			if stop != 0 {
				w.WriteHeader(stop)
				return nil
			}
			return create(w, r, put)
		})
		statuses := []int{
			s.post("k", order, "Authorization", "revoked").status, s.post("k", order, "Authorization", "guest").status,
			s.send("POST", "/nowhere", "k", order).status, s.post("k", `"`+strings.Repeat("x", 100)+`"`).status,
			s.post("k", `{"a":1,"a":2}`).status,
		}
		for _, stop = range []int{400, 415, 422, 429, 503} {
			statuses = append(statuses, s.post("k", other).status)
		}
		if got := fmt.Sprint(statuses); got != "[401 403 404 413 400 400 415 422 429 503]" {
			t.Errorf("statuses = %s", got)
		}
		s.wantEffects(0)
		stop = 0
		wantFresh(t, s.post("k", order), 201)
		s.wantEffects(1)
	})
	t.Run("what a layer in front answers to a retry is not the outcome", func(t *testing.T) {
		t.Parallel()
		s := open(t, newFile, guard, orders, create)
		guarded, layer := s.store.guarded(guard, orders, create), 0
		s.mount(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if layer != 0 {
				w.WriteHeader(layer)
				return
			}
			guarded.ServeHTTP(w, r)
		}))
		first := s.post("k", order)
		for _, layer = range []int{401, 429, 503} {
			if a := s.post("k", order); a.status != layer || a.problem() != "" || a.replayed() {
				t.Errorf("answer = %v", a)
			}
		}
		layer = 0
		wantReplay(t, s.post("k", order), first)
		s.wantEffects(1)
	})
}
