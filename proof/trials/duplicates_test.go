package trials

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"

	"github.com/refrain-dev/refrain/proof/processes"
)

// gate is a handler that waits, once it has made its row, until it is let go.
type gate struct {
	inside chan struct{} // gets one for each run
	goOn   chan struct{}
}

func newGate() *gate { return &gate{make(chan struct{}, 100), make(chan struct{})} }

func (g *gate) create(w http.ResponseWriter, r *http.Request, put func() error) error {
	if err := put(); err != nil {
		return err
	}
	g.inside <- struct{}{}
	<-g.goOn
	return create(w, r, func() error { return nil })
}

// TestDuplicatesWhileTheFirstRuns: a client gives up and sends its key again
// while its first request still runs; many more come over two instances on one
// store. One effect, one set of bytes, and nobody meets anything half-written.
func TestDuplicatesWhileTheFirstRuns(t *testing.T) {
	each(t, func(t *testing.T, newEngine func(*testing.T, func() time.Time) engine) {
		duplicates := processes.Size(12, 30, 50)
		large := strings.Repeat("several KiB ", 700)
		var run *gate
		h := func(w http.ResponseWriter, r *http.Request, put func() error) error {
			w.Header().Set("X-Large", "whole")
			if err := run.create(w, r, put); err != nil {
				return err
			}
			_, err := io.WriteString(w, large)
			return err
		}
		one := open(t, newEngine, guard, orders, h)
		two := serve(t, one.store.again(t), one.clock, guard, orders, h)
		rounds := processes.Size(5, 20, 200)
		for n := range rounds {
			run = newGate()
			key := fmt.Sprint("round ", n)
			key = `"` + key + `"`
			ctx, giveUp := context.WithCancel(t.Context())
			first := make(chan error, 1)
			go func() {
				_, err := one.try(one.request(ctx, key, order))
				first <- err
			}()
			<-run.inside
			giveUp()
			if err := <-first; err == nil {
				t.Fatal("the first client has an answer: the trial shows nothing")
			}
			answers := make([]answer, duplicates)
			var all sync.WaitGroup
			for i := range duplicates {
				all.Go(func() {
					s := []*shop{one, two}[i%2]
					a, err := s.try(s.request(t.Context(), key, order))
					if err != nil {
						t.Error(err)
					}
					answers[i] = a
				})
			}
			close(run.goOn)
			all.Wait()
			var winner answer
			for _, a := range answers {
				if a.status == http.StatusConflict && a.problem() == "in-progress" {
					continue
				}
				if winner.status == 0 {
					winner = a
				}
				wantReplay(t, a, winner)
				if a.status != 201 || !strings.HasSuffix(a.body, large) || a.header.Get("X-Large") != "whole" || a.header.Get("Location") == "" {
					t.Errorf("answer = %v %v", a, a.header)
				}
			}
			if one.wantEffects(n + 1); t.Failed() {
				return
			}
		}
	})
}

// TestPollWhileTheFirstRuns: who does not wait is told "in progress" as long as
// the first request runs, by either way of asking, and the whole result after.
func TestPollWhileTheFirstRuns(t *testing.T) {
	each(t, func(t *testing.T, newEngine func(*testing.T, func() time.Time) engine) {
		run := newGate()
		s := open(t, newEngine, guard, orders, run.create)
		first := make(chan answer, 1)
		go func() { first <- s.post("k", order) }()
		<-run.inside
		for range 20 {
			a := s.post("k", order, "Prefer", "wait=0")
			wantProblem(t, a, 409, "in-progress")
			if a.header.Get("Retry-After") == "" {
				t.Error("no Retry-After")
			}
			if status := s.send("GET", "/v1/operations?operation=orders.create", "k", ""); status.status != 200 && status.status != 404 || strings.Contains(status.body, "confirmed") {
				t.Errorf("status = %v", status)
			}
		}
		close(run.goOn)
		wantFresh(t, <-first, 201)
		if a := s.post("k", order); a.status != 201 || !a.replayed() {
			t.Errorf("afterwards = %v", a)
		}
		s.wantEffects(1)
	})
}

// TestOtherAmountUnderOneKey: another request under a key is never executed and
// never gets the first one's result, whenever it comes.
func TestOtherAmountUnderOneKey(t *testing.T) {
	each(t, func(t *testing.T, newEngine func(*testing.T, func() time.Time) engine) {
		t.Run("after completion", func(t *testing.T) {
			s := open(t, newEngine, guard, orders, create)
			first := s.post("k", order)
			wantProblem(t, s.post("k", other), 422, "key-reused")
			wantReplay(t, s.post("k", order), first)
			s.wantEffects(1)
		})
		t.Run("while the first runs", func(t *testing.T) {
			run := newGate()
			s := open(t, newEngine, guard, orders, run.create)
			first := make(chan answer, 1)
			go func() { first <- s.post("k", order) }()
			<-run.inside
			wantProblem(t, s.post("k", other, "Prefer", "wait=0"), 409, "in-progress")
			waiting := make(chan answer, 1)
			go func() { waiting <- s.post("k", other) }()
			close(run.goOn)
			wantFresh(t, <-first, 201)
			wantProblem(t, <-waiting, 422, "key-reused")
			s.wantEffects(1)
		})
		t.Run("racing the first", func(t *testing.T) {
			s := open(t, newEngine, guard, orders, create)
			for n := range processes.Size(10, 50, 200) {
				answers := make([]answer, 8)
				var all sync.WaitGroup
				for i := range answers {
					all.Go(func() { answers[i], _ = s.try(s.request(t.Context(), fmt.Sprint("k", n), []string{order, other}[i%2])) })
				}
				all.Wait()
				won := [2]int{}
				for i, a := range answers {
					switch {
					case a.status == 201:
						won[i%2]++
					case a.problem() != "key-reused" && a.problem() != "in-progress":
						t.Errorf("answer = %v", a)
					}
				}
				if won[0] > 0 == (won[1] > 0) {
					t.Errorf("%d of one and %d of the other request succeeded", won[0], won[1])
				}
				s.wantEffects(n + 1)
			}
		})
		t.Run("after a failure that left nothing", func(t *testing.T) {
			fail := true
			s := open(t, newEngine, guard, orders, func(w http.ResponseWriter, r *http.Request, put func() error) error {
				if fail {
					w.WriteHeader(http.StatusServiceUnavailable)
					return nil
				}
				return create(w, r, put)
			})
			wantFresh(t, s.post("k", order), 503)
			fail = false
			wantFresh(t, s.post("k", other), 201) // no record, so this is the first
			wantProblem(t, s.post("k", order), 422, "key-reused")
			s.wantEffects(1)
		})
		t.Run("after a recorded refusal", func(t *testing.T) {
			s := open(t, newEngine, guard, orders, func(http.ResponseWriter, *http.Request, func() error) error {
				return refrain.Reject(io.ErrNoProgress)
			})
			s.post("k", order)
			wantProblem(t, s.post("k", other), 422, "key-reused")
			s.wantEffects(0)
		})
		t.Run("over another instance", func(t *testing.T) {
			one := open(t, newEngine, guard, orders, create)
			two := serve(t, one.store.again(t), one.clock, guard, orders, create)
			first := one.post("k", order)
			wantProblem(t, two.post("k", other), 422, "key-reused") // it has never met the key
			wantReplay(t, two.post("k", order), first)
			wantProblem(t, two.post("k", other), 422, "key-reused") // now it has
			wantFresh(t, two.post("l", order), 201)
			wantProblem(t, one.post("l", other), 422, "key-reused")
			one.wantEffects(2)
		})
	})
}

// TestForgettingSparesWhatRuns: cleaning, in a loop and long past every
// deadline, takes nothing away from a request under way.
func TestForgettingSparesWhatRuns(t *testing.T) {
	each(t, func(t *testing.T, newEngine func(*testing.T, func() time.Time) engine) {
		run := newGate()
		slow := true
		s := open(t, newEngine, guard, orders, func(w http.ResponseWriter, r *http.Request, put func() error) error {
			if slow {
				return run.create(w, r, put)
			}
			return create(w, r, put)
		})
		slow = false
		for n := range 20 {
			s.post(fmt.Sprint("old", n), order)
		}
		s.clock.pass(48 * time.Hour)
		slow = true
		first := make(chan answer, 1)
		go func() { first <- s.post("slow", order) }()
		<-run.inside
		forgetting := make(chan int, 1)
		go func() {
			total := 0
			for range 20 {
				n, _ := forget(context.Background(), s.store)
				total += n
			}
			forgetting <- total
		}()
		for range 10 {
			wantProblem(t, s.post("slow", order, "Prefer", "wait=0"), 409, "in-progress")
		}
		close(run.goOn)
		made := <-first
		wantFresh(t, made, 201)
		if n := <-forgetting; n == 0 {
			t.Error("nothing was forgotten: the trial shows nothing")
		}
		if _, err := forget(t.Context(), s.store); err != nil {
			t.Error(err)
		}
		wantReplay(t, s.post("slow", order), made)
		s.wantEffects(21)
	})
}
