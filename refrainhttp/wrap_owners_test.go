package refrainhttp_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/memstore"
	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/refrainhttp"
)

// paused stands for a process that is stopped: it cannot extend its lease.
func (s *till) paused() { s.store.set(gone, nil) }

func (s *till) resumed() { s.store.set(nil, nil) }

// rerunning is a contract whose handler says that it is idempotent by itself.
// MaxExecution is the handler's own bound in these tests.
func rerunning() refrain.Contract {
	c := long()
	c.RerunLost = true
	return c
}

// TestLostIsNotRerun: by default a retry after the lease of a stopped process
// learns that nobody knows, at the latest one lease later, and so does every
// other; when the process comes back with its answer, that settles it.
func TestLostIsNotRerun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newSlow()
		old := wrap(t, guard, long(), h.ServeHTTP)
		first := later(old)
		old.paused()
		other := wrapOver(t, old.db, guard, hasty(), charge)
		wantProblem(t, other.post(), 409, "in-progress")
		time.Sleep(30 * time.Second)
		for range 3 {
			doc := wantProblem(t, other.post(), 409, "outcome-unknown")
			if doc.State != "unknown" || doc.Ref != old.record().Ref {
				t.Errorf("problem = %+v", doc)
			}
		}
		old.wantState(record.Unknown)
		old.resumed()
		wantProblem(t, <-first, 409, "outcome-unknown")
		h.end <- charge
		synctest.Wait()
		wantReplay(t, other.post(), 201, "charged")
		other.wantRuns(0)
	})
}

// at answers that the effect can be seen there.
func at(location string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", location)
		w.WriteHeader(201)
		fmt.Fprint(w, location)
	}
}

// TestTwoOwners: under RerunLost a retry opens a new attempt with a greater
// fence. What the old owner then says is evidence, in whatever order the two
// come; a contradiction is disputed until a person resolves it.
func TestTwoOwners(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		olds, news string
		oldFirst   bool
		disputed   bool
	}{
		"agreeing, new first":      {"/charges/1", "/charges/1", false, false},
		"agreeing, old first":      {"/charges/1", "/charges/1", true, false},
		"contradicting, new first": {"/charges/1", "/charges/2", false, true},
		"contradicting, old first": {"/charges/1", "/charges/2", true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				slowOld, slowNew := newSlow(), newSlow()
				old := wrap(t, guard, rerunning(), slowOld.ServeHTTP)
				olds := later(old)
				fence := old.record().Fence
				old.paused()
				time.Sleep(31 * time.Second)
				other := wrapOver(t, old.db, guard, rerunning(), slowNew.ServeHTTP)
				news := later(other)
				old.resumed()
				rec := old.record()
				if rec.State != record.Submitted || rec.Attempt != 2 || rec.Fence <= fence {
					t.Fatalf("record = %+v after fence %d", rec, fence)
				}
				if running, _ := refrain.CallFrom(*slowNew.ctx.Load()); running.Attempt != 2 || running.Fence != rec.Fence || running.Ref != rec.Ref {
					t.Errorf("running = %+v", running)
				}
				endOld := func() { slowOld.end <- at(tt.olds); synctest.Wait() }
				endNew := func() { slowNew.end <- at(tt.news); synctest.Wait() }
				if tt.oldFirst {
					endOld()
					other.wantState(record.Submitted)
					endNew()
				} else {
					endNew()
					endOld()
				}
				// The old owner was abandoned when its lease was past.
				wantProblem(t, <-olds, 409, "outcome-unknown")
				if res := <-news; res.StatusCode != 201 {
					t.Errorf("the new owner's client got %d", res.StatusCode)
				} else if promised := res.Header.Get("Idempotency-Expires") != ""; promised && tt.disputed && tt.oldFirst {
					t.Error("the answer of a disputed action promises a replay")
				}
				if tt.disputed {
					wantProblem(t, other.post(), 409, "outcome-disputed")
				} else {
					wantReplay(t, other.post(), 201, tt.news)
				}
			})
		})
	}
}

// TestRerunAfterAnUnknownAnswer: the contract says that running again is safe.
func TestRerunAfterAnUnknownAnswer(t *testing.T) {
	t.Parallel()
	n := 0
	s := wrap(t, guard, rerunning(), func(w http.ResponseWriter, r *http.Request) {
		if n++; n == 1 {
			w.WriteHeader(503)
			return
		}
		if running, _ := refrain.CallFrom(r.Context()); running.Attempt != 2 {
			t.Errorf("attempt %d", running.Attempt)
		}
		charge(w, r)
	})
	ref := s.post().Header.Get("Idempotency-Ref")
	if res := s.post(); res.StatusCode != 201 || res.Header.Get("Idempotency-Ref") != ref {
		t.Errorf("retry = %d %v", res.StatusCode, res.Header)
	}
	wantReplay(t, s.post(), 201, "charged")
	s.wantRuns(2)
}

// TestNotStartedAgain: a later attempt that did not begin does not prove that
// the first one did not.
func TestNotStartedAgain(t *testing.T) {
	t.Parallel()
	n := 0
	s := wrap(t, guard, rerunning(), func(w http.ResponseWriter, r *http.Request) {
		if n++; n == 2 {
			refrainhttp.NotStarted(w)
		}
		w.WriteHeader(503)
	})
	s.post()
	if res := s.post(); res.Header.Get("Idempotency-Ref") == "" {
		t.Error("the answer denies the record")
	}
	s.wantState(record.Unknown)
}

// TestResolved: a person's word ends row 7.
func TestResolved(t *testing.T) {
	t.Parallel()
	s := wrap(t, guard, orders, answering(502))
	s.post()
	wantProblem(t, s.post(), 409, "outcome-unknown")
	claim, err := refrain.Call{Contract: orders, Scope: north, Key: secretKey}.Claim()
	if err != nil {
		t.Fatal(err)
	}
	err = s.db.Change(t.Context(), secretID, func(seen record.Seen, now time.Time) (record.Edit, error) {
		return record.Resolve(seen, now, record.Result{Status: 201, Body: []byte("found")}, claim.Policy, "ada", "seen at the bank")
	})
	if err != nil {
		t.Fatal(err)
	}
	wantReplay(t, s.post(), 201, "found")
	s.wantRuns(1)
}

// TestDuplicatesShareOneRun: in one process and across two, a waiter holds no
// more than itself and gets the first answer as soon as it is there.
func TestDuplicatesShareOneRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := long()
		c.Wait = time.Minute
		h := newSlow()
		one := wrap(t, guard, c, h.ServeHTTP)
		two := wrapOver(t, one.db, guard, c, charge)
		var answers []<-chan *http.Response
		for i := range 64 {
			answers = append(answers, later([]*till{one, two}[i%2]))
		}
		time.Sleep(5 * time.Second)
		h.end <- charge
		begun := time.Now()
		replays := 0
		for _, answer := range answers {
			res := <-answer
			if body := text(t, res); res.StatusCode != 201 || body != "charged" {
				t.Errorf("answer = %d %q", res.StatusCode, body)
			}
			if res.Header.Get("Idempotent-Replayed") == "true" {
				replays++
			}
		}
		if took := time.Since(begun); took > 200*time.Millisecond || replays != 63 {
			t.Errorf("%d replays, %v after the first answer", replays, took)
		}
		one.wantRuns(1)
		two.wantRuns(0)
	})
}

// TestWrapWaits as long as the contract and the client's preference say.
func TestWrapWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := long()
		c.Wait = 5 * time.Second
		h := newSlow()
		s := wrap(t, guard, c, h.ServeHTTP)
		first := later(s)
		for prefer, want := range map[string]time.Duration{"": 5 * time.Second, "wait=1": time.Second, "wait=0": 0, "wait=60": 5 * time.Second} {
			begun := time.Now()
			wantProblem(t, s.post("Prefer", prefer), 409, "in-progress")
			if waited := time.Since(begun); waited != want {
				t.Errorf("Prefer: %s waited %v, want %v", prefer, waited, want)
			}
		}
		h.end <- charge
		<-first
	})
}

// TestLoserOfTheClaimWaits: two processes see nothing at the same time; the one
// that is slower to write waits like any other duplicate.
func TestLoserOfTheClaimWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := long()
		c.Wait = 10 * time.Second
		h := newSlow()
		one := wrap(t, guard, c, h.ServeHTTP)
		two := wrapOver(t, one.db, guard, c, charge)
		ready := make(chan struct{})
		two.store.set(func(next func() error) error { <-ready; return next() }, nil)
		second := later(two)
		first := later(one)
		close(ready)
		time.Sleep(5 * time.Second)
		h.end <- charge
		<-first
		wantReplay(t, <-second, 201, "charged")
		two.wantRuns(0)
	})
}

// TestWrapAsync is row 6b: while the first runs, and when nobody knows.
func TestWrapAsync(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := long()
		c.Async = true
		h := newSlow()
		s := wrap(t, guard, c, h.ServeHTTP)
		first := later(s)
		res := s.post()
		if ref := s.record().Ref; res.StatusCode != 202 || res.Header.Get("Location") != "/v1/operations/"+ref || res.Header.Get("Idempotency-Status") != "in-progress" {
			t.Errorf("while it runs: %d %v", res.StatusCode, res.Header)
		}
		h.end <- answering(500)
		<-first
		if res := s.post(); res.StatusCode != 202 || res.Header.Get("Idempotency-Status") != "outcome-unknown" {
			t.Errorf("when nobody knows: %d %v", res.StatusCode, res.Header)
		}
		s.wantRuns(1)
	})
}

// TestWrapClientLeaves: neither the client's deadline nor its absence ends the
// handler; the retry gets what it answered.
func TestWrapClientLeaves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newSlow()
		s := wrap(t, guard, long(), h.ServeHTTP)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		first := make(chan *http.Response)
		go func() { first <- s.do(request(secretKey, smallOrder).WithContext(ctx)) }()
		time.Sleep(10 * time.Second)
		if h.cause() != nil {
			t.Errorf("the handler was stopped: %v", h.cause())
		}
		wantProblem(t, s.post(), 409, "in-progress")
		h.end <- charge
		<-first
		wantReplay(t, s.post(), 201, "charged")
		s.wantRuns(1)
	})
}

// TestWrapClientLeavesBeforeTheHandler: its claim is given back.
func TestWrapClientLeavesBeforeTheHandler(t *testing.T) {
	t.Parallel()
	s := wrap(t, guard, orders, charge)
	ctx, cancel := context.WithCancel(t.Context())
	s.store.set(func(next func() error) error {
		err := next()
		cancel()
		return err
	}, nil)
	s.do(request(secretKey, smallOrder).WithContext(ctx))
	s.wantRuns(0)
	s.wantState(0)
	s.store.set(nil, nil)
	if res := s.post(); res.StatusCode != 201 || res.Header.Get("Idempotent-Replayed") != "" {
		t.Errorf("retry = %d", res.StatusCode)
	}
}

// TestExecuteInside: work of its own under another key is no part of the action.
func TestExecuteInside(t *testing.T) {
	t.Parallel()
	db := memstore.New(memstore.Options{})
	s := wrap(t, guard, orders, func(w http.ResponseWriter, r *http.Request) {
		_, err := db.Execute(r.Context(), refrain.Call{Contract: orders, Scope: north, Key: "inner"},
			func(ctx context.Context, _ memstore.Tx) (refrain.Result, error) {
				outer, _ := refrain.CallFrom(r.Context())
				if inner, _ := refrain.CallFrom(ctx); inner.Ref == outer.Ref {
					t.Errorf("the action inside is %+v", inner)
				}
				return refrain.Result{}, nil
			})
		if err != nil {
			t.Errorf("Execute inside = %v", err)
		}
	})
	s.post()
	s.wantState(record.Confirmed)
}
