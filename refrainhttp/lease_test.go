package refrainhttp_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/refrainhttp"
)

// slow runs until the test says how to end.
type slow struct {
	end   chan http.HandlerFunc
	ctx   atomic.Pointer[context.Context]
	stops bool // returns with its context, with 503
}

func newSlow() *slow { return &slow{end: make(chan http.HandlerFunc)} }

func (s *slow) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	s.ctx.Store(&ctx)
	if !s.stops {
		(<-s.end)(w, r)
		return
	}
	select {
	case h := <-s.end:
		h(w, r)
	case <-ctx.Done():
		http.Error(w, context.Cause(ctx).Error(), 503)
	}
}

func (s *slow) cause() error { return context.Cause(*s.ctx.Load()) }

// long is a contract whose handlers may run for an hour.
func long() refrain.Contract {
	c := hasty()
	c.MaxExecution = time.Hour
	return c
}

func later(s *till, fields ...string) <-chan *http.Response {
	answer := make(chan *http.Response, 1)
	go func() { answer <- s.post(fields...) }()
	synctest.Wait()
	return answer
}

// TestLeaseIsKept: a handler that outlives its lease by far keeps its claim, and
// nothing keeps running after it.
func TestLeaseIsKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newSlow()
		s := wrap(t, guard, long(), h.ServeHTTP)
		first := later(s)
		for range 50 {
			time.Sleep(20 * time.Second) // of the bubble's clock
			if rec := s.record(); rec.State != record.Submitted || !rec.Lease.After(time.Now()) {
				t.Fatalf("after %v the record is %+v", time.Since(rec.Created), rec)
			}
			wantProblem(t, s.post(), 409, "in-progress")
		}
		time.Sleep(3 * time.Second) // the handler ends between two beats
		h.end <- charge
		if res := <-first; res.StatusCode != 201 {
			t.Errorf("first = %d", res.StatusCode)
		}
		synctest.Wait()
		changes := 0
		s.store.set(func(next func() error) error { changes++; return next() }, nil)
		time.Sleep(time.Hour)
		wantReplay(t, s.post(), 201, "charged")
		if changes != 0 {
			t.Errorf("%d writes after the handler had ended", changes)
		}
		s.wantRuns(1)
	})
}

// TestLeaseIsExtendedAThirdAtATime: at no moment is less than half of it left.
func TestLeaseIsExtendedAThirdAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newSlow()
		c := long()
		c.Lease = 3 * time.Second
		s := wrap(t, guard, c, h.ServeHTTP)
		first := later(s)
		for range 100 {
			time.Sleep(100 * time.Millisecond)
			synctest.Wait()
			if left := time.Until(s.record().Lease); left < 1900*time.Millisecond || left > 3*time.Second {
				t.Fatalf("%v of the lease are left", left)
			}
		}
		h.end <- charge
		<-first
	})
}

// TestLeaseLost: an owner that finds its record taken is stopped with the cause,
// and its answer is evidence.
func TestLeaseLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newSlow()
		h.stops = true
		s := wrap(t, guard, long(), h.ServeHTTP)
		first := later(s)
		err := s.db.Change(t.Context(), secretID, func(seen record.Seen, now time.Time) (record.Edit, error) {
			rec := *seen.Record
			rec.State, rec.Lease = record.Unknown, time.Time{}
			return record.Edit{Put: &rec}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		if res := <-first; res.StatusCode != 503 || text(t, res) != refrainhttp.ErrLeaseLost.Error()+"\n" {
			t.Errorf("first = %d", res.StatusCode)
		}
		if took := time.Since(begun); took > 10*time.Second {
			t.Errorf("it was noticed after %v", took)
		}
		if !errors.Is(h.cause(), refrainhttp.ErrLeaseLost) {
			t.Errorf("cause = %v", h.cause())
		}
		wantProblem(t, s.post(), 409, "outcome-unknown")
	})
}

// TestStoreGoneWhileRunning: the handler goes on while the lease may still be
// good, and is stopped when it cannot be.
func TestStoreGoneWhileRunning(t *testing.T) {
	t.Parallel()
	t.Run("for a while", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			h := newSlow()
			s := wrap(t, guard, long(), h.ServeHTTP)
			first := later(s)
			s.store.set(gone, nil)
			time.Sleep(25 * time.Second)
			s.store.set(nil, nil)
			time.Sleep(25 * time.Second)
			if h.cause() != nil {
				t.Errorf("the handler was stopped: %v", h.cause())
			}
			wantProblem(t, s.post(), 409, "in-progress")
			h.end <- charge
			if res := <-first; res.StatusCode != 201 {
				t.Errorf("first = %d", res.StatusCode)
			}
			wantReplay(t, s.post(), 201, "charged")
		})
	})
	for name, fault := range map[string]func(func() error) error{
		"refusing": gone,
		"hanging":  nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := newSlow()
				h.stops = true
				s := wrap(t, guard, long(), h.ServeHTTP)
				begun := time.Now()
				first := later(s)
				back := make(chan struct{})
				if fault == nil {
					fault = func(func() error) error { <-back; return errGone }
				}
				s.store.set(fault, nil)
				<-(*h.ctx.Load()).Done()
				if stopped := time.Since(begun); stopped != 30*time.Second || !errors.Is(h.cause(), refrainhttp.ErrLeaseLost) {
					t.Errorf("stopped after %v with %v", stopped, h.cause())
				}
				close(back)
				s.store.set(nil, nil)
				if res := <-first; res.StatusCode != 503 {
					t.Errorf("first = %d", res.StatusCode)
				}
				wantProblem(t, s.post(), 409, "outcome-unknown")
				s.wantRuns(1)
			})
		})
	}
}

// TestMaxExecution: the handler is told, and has a moment to answer by itself.
func TestMaxExecution(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newSlow()
		h.stops = true
		s := wrap(t, guard, hasty(), h.ServeHTTP)
		begun := time.Now()
		res := s.post()
		if took := time.Since(begun); res.StatusCode != 503 || took != 30*time.Second || !errors.Is((*h.ctx.Load()).Err(), context.DeadlineExceeded) {
			t.Errorf("answer = %d after %v, %v", res.StatusCode, took, h.cause())
		}
		wantProblem(t, s.post(), 409, "outcome-unknown")
		s.wantRuns(1)
	})
}

// TestRefusalAfterMaxExecution: a 4xx of a handler that was stopped speaks of its
// context, not of the action.
func TestRefusalAfterMaxExecution(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]record.State{201: record.Confirmed, 404: record.Unknown, 499: record.Unknown, 503: record.Unknown} {
		synctest.Test(t, func(t *testing.T) {
			c := hasty()
			c.FreeOn = []int{503}
			s := wrap(t, guard, c, func(w http.ResponseWriter, r *http.Request) {
				<-r.Context().Done()
				w.WriteHeader(status)
			})
			if res := s.post(); res.StatusCode != status {
				t.Errorf("answer = %d, want the handler's %d", res.StatusCode, status)
			}
			s.wantState(want)
		})
	}
}

// TestHandlerThatDoesNotReturn: its client is not kept, its writer is dead, and
// what it answers in the end still settles the record.
func TestHandlerThatDoesNotReturn(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		end   http.HandlerFunc
		state record.State
	}{
		"an answer":  {charge, record.Confirmed},
		"a panic":    {func(http.ResponseWriter, *http.Request) { panic("late") }, record.Unknown},
		"a refusal":  {func(w http.ResponseWriter, _ *http.Request) { refrainhttp.Refuse(w); w.WriteHeader(409) }, record.Rejected},
		"not begun":  {func(w http.ResponseWriter, _ *http.Request) { refrainhttp.NotStarted(w); w.WriteHeader(500) }, 0},
		"a long one": {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 2<<20)) }, record.Confirmed},
		"a stream": {func(w http.ResponseWriter, _ *http.Request) {
			if err := http.NewResponseController(w).Flush(); err != nil {
				panic(err)
			}
			_, _ = io.WriteString(w, "more")
		}, record.Confirmed},
		"a hijack": {func(w http.ResponseWriter, _ *http.Request) {
			if _, _, err := http.NewResponseController(w).Hijack(); !errors.Is(err, http.ErrNotSupported) {
				panic(err)
			}
			charge(w, nil)
		}, record.Confirmed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := newSlow()
				s := wrap(t, guard, hasty(), h.ServeHTTP)
				begun := time.Now()
				client := httptest.NewRecorder()
				s.http.ServeHTTP(client, request(secretKey, smallOrder))
				told := client.Body.Len()
				doc := wantProblem(t, client.Result(), 409, "outcome-unknown")
				if took := time.Since(begun); took != 31*time.Second || doc.Ref == "" || doc.State != "unknown" {
					t.Errorf("after %v: %+v", took, doc)
				}
				wantProblem(t, s.post(), 409, "outcome-unknown")
				s.wantState(record.Unknown)
				time.Sleep(time.Hour)
				h.end <- tt.end
				synctest.Wait()
				s.wantState(tt.state)
				s.wantRuns(1)
				if client.Flushed || client.Body.Len() != told {
					t.Errorf("%d bytes reached the client after its answer, flushed: %t", client.Body.Len()-told, client.Flushed)
				}
			})
		})
	}
}
