package refraintest

import (
	"sync"
	"time"
)

// Clock is a clock that moves only when it is told to. Give its Now to the
// engine's and the guard's options, move it past a deadline, and see what the
// service says then. The zero value stands at noon UTC on 14 March 2026. It is
// safe for concurrent use.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

var noon = time.Date(2026, time.March, 14, 12, 0, 0, 0, time.UTC)

// Now returns the time the clock stands at.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at()
}

// Set moves the clock to a time, also an earlier one.
func (c *Clock) Set(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = now
}

// Advance moves the clock by d, backward if d is negative.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.at().Add(d)
}

func (c *Clock) at() time.Time {
	if c.now.IsZero() {
		return noon
	}
	return c.now
}
