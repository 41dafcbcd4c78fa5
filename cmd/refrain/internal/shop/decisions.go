package shop

import (
	"context"
	"sync"
	"time"

	"github.com/refrain-dev/refrain"
)

// kept is how many decisions are remembered.
const kept = 50

// Decision is one decision as the page shows it.
type Decision struct {
	At time.Time
	refrain.Event
}

// Decisions remembers the last decisions. It is the observer of the engine and
// of the guard; the zero value is ready.
type Decisions struct {
	mu    sync.Mutex
	ring  [kept]Decision
	count int
}

// Observe implements [refrain.Observer].
func (d *Decisions) Observe(_ context.Context, e refrain.Event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ring[d.count%kept] = Decision{time.Now().UTC(), e}
	d.count++
}

// Last returns up to n decisions, newest first.
func (d *Decisions) Last(n int) []Decision {
	d.mu.Lock()
	defer d.mu.Unlock()
	last := make([]Decision, 0, min(n, d.count, kept))
	for i := range min(n, d.count, kept) {
		last = append(last, d.ring[(d.count-1-i)%kept])
	}
	return last
}
