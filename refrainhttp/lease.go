package refrainhttp

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/refrain-dev/refrain/record"
)

// lease keeps a claim alive while its handler runs: a third of the lease after
// each success it is extended again, and after a failure sooner. A lease that
// is lost, or that would be past by our own clock because the store does not
// answer, is told at once.
type lease struct {
	length time.Duration
	extend func(context.Context) error
	lost   func()

	ctx    context.Context // of the extensions under way
	cancel context.CancelFunc
	under  sync.WaitGroup

	mu      sync.Mutex
	beat    *time.Timer
	end     *time.Timer
	stopped bool
}

// beats is how many extensions one lease has room for, and retries how many
// tries there are in place of one of them.
const (
	beats   = 3
	retries = 4
)

// keepAlive begins to extend a lease that is good until then.
func keepAlive(until time.Time, length time.Duration, extend func(context.Context) error, lost func()) *lease {
	l := &lease{length: length, extend: extend, lost: lost}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	l.mu.Lock() // a timer may fire before both are set
	defer l.mu.Unlock()
	left := time.Until(until)
	l.end = time.AfterFunc(left, lost)
	l.beat = time.AfterFunc(left-length+length/beats, l.run)
	return l
}

func (l *lease) run() {
	if !l.begin() {
		return
	}
	defer l.under.Done()
	begun := time.Now()
	ctx, cancel := context.WithTimeout(l.ctx, l.length/beats)
	defer cancel()
	err := l.extend(ctx)

	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.stopped:
	case errors.Is(err, record.ErrLeaseLost):
		l.lost()
	case err != nil:
		l.beat.Reset(l.length / beats / retries)
	default:
		l.end.Reset(time.Until(begun.Add(l.length)))
		l.beat.Reset(l.length / beats)
	}
}

func (l *lease) begin() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped {
		return false
	}
	l.under.Add(1)
	return true
}

// stop ends the extensions and waits for one that is under way. It may be called
// again.
func (l *lease) stop() {
	l.mu.Lock()
	l.stopped = true
	l.beat.Stop()
	l.end.Stop()
	l.mu.Unlock()
	l.cancel()
	l.under.Wait()
}
