package external

import (
	"context"
	"sync"
	"time"

	"github.com/refrain-dev/refrain/operation"
)

// lane is what a runner keeps per provider: no provider waits for another one.
type lane struct {
	name     string
	provider Provider
	terms    operation.Terms
	breaker  breaker
	most     int // at the provider at once

	accepted chan struct{} // an operation may be committed soon
	due      chan struct{} // one may be due now
	freed    chan struct{} // there is room again

	mu    sync.Mutex
	calls int // at the provider
	held  int // calls, and those whose reply is still to be written
}

// perCall is how many operations are held per call that is allowed at once.
const perCall = 4

func newLane(name string, p Provider, o Options) *lane {
	return &lane{
		name: name, provider: p, terms: p.Terms(), most: o.Concurrency,
		breaker:  breaker{after: o.BreakAfter, pause: o.BreakFor},
		accepted: make(chan struct{}, 1), due: make(chan struct{}, 1), freed: make(chan struct{}, 1),
	}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func (l *lane) wake() { signal(l.accepted) }

// room is how many operations may be taken.
func (l *lane) room() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return min(l.most-l.calls, perCall*l.most-l.held)
}

// enter takes n places, or none where there are fewer.
func (l *lane) enter(n int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n > min(l.most-l.calls, perCall*l.most-l.held) {
		return false
	}
	l.calls += n
	l.held += n
	return true
}

// called gives back n places at the provider, left n places altogether.
func (l *lane) called(n int) { l.free(n, 0) }
func (l *lane) left(n int)   { l.free(0, n) }

func (l *lane) free(calls, held int) {
	l.mu.Lock()
	l.calls -= calls
	l.held -= held
	l.mu.Unlock()
	signal(l.freed)
}

// The first looks after an accept, whose transaction is still to commit.
const eager = time.Millisecond

// pause waits until the store should be asked again and returns how long to wait
// the next time: soon after an accept, less and less often up to poll without.
func (l *lane) pause(ctx context.Context, wait, poll time.Duration) time.Duration {
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
		return min(2*wait, poll)
	case <-l.due:
		return min(2*wait, poll)
	case <-l.accepted:
	case <-ctx.Done():
		return poll
	}
	t.Reset(eager)
	select {
	case <-t.C:
	case <-ctx.Done():
	}
	return 2 * eager
}
