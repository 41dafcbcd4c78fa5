package postgres

import (
	"context"
	"errors"
	"sync"
	"time"
)

// errTasksClosed: the engine was closed.
var errTasksClosed = errors.New("postgres: the engine is closed")

// tasks is what an engine has under way. The zero value is ready.
type tasks struct {
	mu     sync.Mutex
	n      int
	closed bool
	idle   chan struct{} // closed when nothing is under way; made by close
}

// enter counts one more until leave; it fails after close.
func (t *tasks) enter() (leave func(), err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, errTasksClosed
	}
	t.n++
	return t.leave, nil
}

// follow counts what belongs to something under way; ok is false when nothing is.
func (t *tasks) follow() (leave func(), ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.n == 0 {
		return nil, false
	}
	t.n++
	return t.leave, true
}

func (t *tasks) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.n--
	if t.n == 0 && t.closed {
		close(t.idle)
	}
}

// within runs work in a goroutine of its own and waits for it, at most for
// patience; it reports whether work has ended. The caller is under way itself.
func (t *tasks) within(patience time.Duration, work func()) (ended bool) {
	t.mu.Lock()
	t.n++
	t.mu.Unlock()
	done := make(chan struct{})
	go func() {
		defer t.leave()
		defer close(done)
		work()
	}()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

// close refuses what comes and waits for what is under way.
func (t *tasks) close(ctx context.Context) error {
	t.mu.Lock()
	if !t.closed {
		t.closed, t.idle = true, make(chan struct{})
		if t.n == 0 {
			close(t.idle)
		}
	}
	idle := t.idle
	t.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
