package record

import (
	"context"
	"sync"
)

// flights lets duplicates in one process share one execution without holding a
// connection. Waiters share only a committed record; when the leader ends
// without one, exactly one waiter takes over. The zero value is ready.
type flights struct {
	mu      sync.Mutex
	open    map[Identity]*flight
	strikes map[Identity]int
}

type flight struct {
	waiters []chan landing
}

type landing struct {
	record *Record // nil: the waiter leads now
}

// join returns lead = true to the caller that must execute and then call land.
// Everybody else waits and gets the committed record. A nil record without lead
// means that the wait ended first: ctx is done or max callers wait already.
func (f *flights) join(ctx context.Context, id Identity, max int) (rec *Record, lead bool) {
	f.mu.Lock()
	fl := f.open[id]
	if fl == nil {
		f.begin(id)
		f.mu.Unlock()
		return nil, true
	}
	if len(fl.waiters) >= max || ctx.Err() != nil {
		f.mu.Unlock()
		return nil, false
	}
	ch := make(chan landing, 1)
	fl.waiters = append(fl.waiters, ch)
	f.mu.Unlock()

	select {
	case l := <-ch:
		return l.record, l.record == nil
	case <-ctx.Done():
		return f.leave(id, fl, ch)
	}
}

// first gives the lead if no flight of id is under way.
func (f *flights) first(id Identity) (lead bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.open[id] != nil {
		return false
	}
	f.begin(id)
	return true
}

// under reports whether a flight of id is under way.
func (f *flights) under(id Identity) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.open[id] != nil
}

// begin opens a flight. The lock is held.
func (f *flights) begin(id Identity) {
	if f.open == nil {
		f.open = make(map[Identity]*flight)
	}
	f.open[id] = new(flight)
}

// leave takes a waiter whose time is over out of the flight. One that was
// called at the same moment keeps what it got.
func (f *flights) leave(id Identity, fl *flight, ch chan landing) (*Record, bool) {
	f.mu.Lock()
	for i, w := range fl.waiters {
		if w == ch {
			fl.waiters = append(fl.waiters[:i], fl.waiters[i+1:]...)
			f.mu.Unlock()
			return nil, false
		}
	}
	f.mu.Unlock()
	l := <-ch
	if l.record == nil {
		f.land(id, nil) // called to lead, but out of time: the next waiter leads
		return nil, false
	}
	return l.record, false
}

// land ends the leader's turn: with a committed record everybody gets it, with
// nil the first waiter leads.
func (f *flights) land(id Identity, rec *Record) {
	f.mu.Lock()
	defer f.mu.Unlock()
	fl := f.open[id]
	if rec == nil && len(fl.waiters) > 0 {
		first := fl.waiters[0]
		fl.waiters = fl.waiters[1:]
		first <- landing{}
		return
	}
	delete(f.open, id)
	called := fl.waiters
	fl.waiters = nil // one that is leaving finds itself called
	for _, w := range called {
		w <- landing{rec}
	}
}

// maxStruck bounds the memory of failed identities; past it the memory starts anew.
const maxStruck = 10_000

// strike counts one more run of id that ended rolled back and returns the
// number in a row.
func (f *flights) strike(id Identity) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.strikes == nil || len(f.strikes) >= maxStruck {
		f.strikes = make(map[Identity]int)
	}
	f.strikes[id]++
	return f.strikes[id]
}

func (f *flights) clear(id Identity) {
	f.mu.Lock()
	delete(f.strikes, id)
	f.mu.Unlock()
}
