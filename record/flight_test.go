package record

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

const crowd = 64

var flightID = Identity{Scope: "tenant=north", Operation: "orders.create", Key: "k"}

// lands is what one caller got from join.
type lands struct {
	rec  *Record
	lead bool
}

// board starts n waiters on id and returns where their answers arrive.
func board(f *flights, ctx context.Context, n int) <-chan lands {
	answers := make(chan lands, n)
	for range n {
		go func() {
			rec, lead := f.join(ctx, flightID, crowd)
			answers <- lands{rec, lead}
		}()
	}
	synctest.Wait()
	return answers
}

func mustLead(t *testing.T, f *flights) {
	t.Helper()
	if rec, lead := f.join(t.Context(), flightID, crowd); !lead || rec != nil {
		t.Fatalf("join = %v, %t, want the lead", rec, lead)
	}
}

func TestFlightSharesOneRecord(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var f flights
		mustLead(t, &f)
		answers := board(&f, t.Context(), crowd)
		if len(answers) != 0 {
			t.Fatalf("%d waiters left before the leader landed", len(answers))
		}
		rec := receipt(Result{})
		f.land(flightID, rec)
		for range crowd {
			if got := <-answers; got.rec != rec || got.lead {
				t.Fatalf("a waiter got %+v", got)
			}
		}
		if len(f.open) != 0 {
			t.Error("the flight is still open")
		}
		mustLead(t, &f) // what comes later looks for itself
	})
}

func TestFlightWithoutRecordHasOneSuccessor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var f flights
		mustLead(t, &f)
		answers := board(&f, t.Context(), crowd)
		for left := crowd; left > 0; left-- {
			f.land(flightID, nil)
			synctest.Wait()
			if len(answers) != 1 {
				t.Fatalf("%d of %d waiters took over, want 1", len(answers), left)
			}
			if got := <-answers; got.rec != nil || !got.lead {
				t.Fatalf("the successor got %+v", got)
			}
		}
		f.land(flightID, nil)
		if len(f.open) != 0 {
			t.Error("the flight is still open")
		}
	})
}

func TestFlightsOfOtherIdentitiesAreApart(t *testing.T) {
	t.Parallel()
	var f flights
	mustLead(t, &f)
	other := flightID
	other.Scope = "tenant=south"
	if rec, lead := f.join(t.Context(), other, 0); !lead || rec != nil {
		t.Errorf("join of another identity = %v, %t, want the lead", rec, lead)
	}
}

func TestFlightBoundsItsWaiters(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var f flights
		mustLead(t, &f)
		answers := board(&f, t.Context(), 2)
		if rec, lead := f.join(t.Context(), flightID, 2); rec != nil || lead {
			t.Errorf("the third of two waiters got %v, %t", rec, lead)
		}
		if rec, lead := f.join(t.Context(), flightID, 0); rec != nil || lead {
			t.Errorf("a waiter where none may wait got %v, %t", rec, lead)
		}
		f.land(flightID, receipt(Result{}))
		for range 2 {
			if got := <-answers; got.rec == nil {
				t.Errorf("a waiter within the bound got %+v", got)
			}
		}
	})
}

func TestFlightWaiterLeaves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var f flights
		mustLead(t, &f)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		leaving := board(&f, ctx, 3)
		staying := board(&f, t.Context(), 2)
		<-ctx.Done()
		synctest.Wait()
		for range 3 {
			if got := <-leaving; got.rec != nil || got.lead {
				t.Errorf("a waiter whose time is over got %+v", got)
			}
		}
		if rec, lead := f.join(ctx, flightID, crowd); rec != nil || lead {
			t.Errorf("a caller without time got %v, %t", rec, lead)
		}
		if n := len(f.open[flightID].waiters); n != 2 {
			t.Errorf("%d wait, want the 2 whose time is not over", n)
		}
		f.land(flightID, nil)
		synctest.Wait()
		led := 0
		for len(staying) > 0 {
			if got := <-staying; got.lead {
				led++
			}
		}
		if led != 1 {
			t.Errorf("%d took over, want 1", led)
		}
		f.land(flightID, nil)
	})
}

// TestFlightWaiterCalledWhileLeaving is the moment between the end of a
// waiter's time and its leaving: what it was called for must not be lost.
func TestFlightWaiterCalledWhileLeaving(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var f flights
		mustLead(t, &f)
		fl := f.open[flightID]
		late := make(chan landing, 1)
		fl.waiters = append(fl.waiters, late)
		answers := board(&f, t.Context(), 2)
		f.land(flightID, nil) // calls the late one
		if rec, lead := f.leave(flightID, fl, late); rec != nil || lead {
			t.Errorf("the late waiter got %v, %t", rec, lead)
		}
		synctest.Wait()
		if len(answers) != 1 {
			t.Fatalf("%d took over from the late waiter, want 1", len(answers))
		}
		if got := <-answers; !got.lead {
			t.Fatalf("the next waiter got %+v", got)
		}

		late = make(chan landing, 1)
		fl.waiters = append(fl.waiters, late)
		rec := receipt(Result{})
		f.land(flightID, rec)
		if got, lead := f.leave(flightID, fl, late); got != rec || lead {
			t.Errorf("a waiter served while leaving got %v, %t", got, lead)
		}
		<-answers
	})
}

// TestFlightUnderCancellation lets every waiter's time end at the instant its
// leader lands, many times: each flight ends closed and with one leader at a time.
func TestFlightUnderCancellation(t *testing.T) {
	t.Parallel()
	var f flights
	for range 300 {
		var leading, led atomic.Int32
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for range 16 {
			all.Go(func() {
				if _, lead := f.join(ctx, flightID, crowd); lead {
					if leading.Add(1) != 1 {
						t.Error("two lead at a time")
					}
					led.Add(1)
					cancel()
					leading.Add(-1)
					f.land(flightID, nil)
				}
			})
		}
		all.Wait()
		cancel()
		if led.Load() == 0 || len(f.open) != 0 {
			t.Fatalf("%d led, %d flights still open", led.Load(), len(f.open))
		}
	}
}

func TestStrikes(t *testing.T) {
	t.Parallel()
	var f flights
	other := flightID
	other.Key = "other"
	for want := 1; want <= 3; want++ {
		if got := f.strike(flightID); got != want {
			t.Errorf("strike = %d, want %d", got, want)
		}
	}
	if got := f.strike(other); got != 1 {
		t.Errorf("first strike of another identity = %d", got)
	}
	f.clear(flightID)
	if got := f.strike(flightID); got != 1 {
		t.Errorf("strike after a success = %d, want 1", got)
	}
	for i := range 3 * maxStruck {
		f.strike(Identity{Key: string(rune(i)), Scope: "many"})
	}
	if len(f.strikes) > maxStruck {
		t.Errorf("%d identities are remembered, %d allowed", len(f.strikes), maxStruck)
	}
}
