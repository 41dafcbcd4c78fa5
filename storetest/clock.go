package storetest

import (
	"sync"
	"time"
)

// epoch is where every clock of the suite begins: the night in which central
// Europe loses an hour.
var epoch = time.Date(2026, time.March, 29, 0, 0, 0, 0, time.UTC)

// clock is the store's time; it stands still until it is told to move.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) set(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = now
}

func (c *clock) advance(d time.Duration) { c.set(c.Now().Add(d)) }
