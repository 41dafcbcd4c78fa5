package external

import (
	"sync"
	"time"
)

// breaker stops submissions to a provider that does not answer. The zero value
// with after and pause set is closed.
type breaker struct {
	after int           // losses in a row that open it; negative: never
	pause time.Duration // how long it stays open before one attempt is tried

	mu     sync.Mutex
	losses int
	until  time.Time // zero while closed
	trial  bool      // one attempt is trying
}

// reserve returns how many of n submissions may be begun. Of a trial that is not
// begun, spare tells.
func (b *breaker) reserve(n int) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.until.IsZero():
		return n
	case b.trial || time.Now().Before(b.until):
		return 0
	}
	b.trial = true
	return min(n, 1)
}

func (b *breaker) spare() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.trial = false
}

// left is how long nothing should be submitted.
func (b *breaker) left() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return max(time.Until(b.until), b.pause/10)
}

// answered and lost count an attempt; they report whether that closed or opened
// the breaker.
func (b *breaker) answered() (closed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	closed = !b.until.IsZero()
	b.losses, b.until, b.trial = 0, time.Time{}, false
	return closed
}

func (b *breaker) lost() (opened bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.losses++
	b.trial = false
	if b.after < 0 || b.losses < b.after {
		return false
	}
	opened = b.until.IsZero()
	b.until = time.Now().Add(b.pause)
	return opened
}
