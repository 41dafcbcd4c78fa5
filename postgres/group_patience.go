package postgres

import (
	"slices"
	"sync"
	"time"
)

// patience releases the members when they have waited for the last flush as long
// as their contracts let them wait for COMMIT. stop ends that.
func (p *party) patience() (stop func()) {
	var mu sync.Mutex
	over, counted := false, false
	late := &p.group.db.late.n
	release := func(wait time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		if over {
			return
		}
		if !counted {
			counted = true
			late.Add(1)
		}
		for _, m := range p.members {
			if m.claim.Policy.CommitWait == wait {
				m.end(verdict{kind: fateTold, err: commitUnknown(errLate)})
			}
		}
	}
	var timers []*time.Timer
	var waits []time.Duration
	for _, m := range p.members {
		if wait := m.claim.Policy.CommitWait; !slices.Contains(waits, wait) {
			waits = append(waits, wait)
			timers = append(timers, time.AfterFunc(wait, func() { release(wait) }))
		}
	}
	return func() {
		for _, t := range timers {
			t.Stop()
		}
		mu.Lock()
		defer mu.Unlock()
		over = true
		if counted {
			late.Add(-1)
		}
	}
}
