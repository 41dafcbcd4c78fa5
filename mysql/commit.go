package mysql

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/refrain-dev/refrain"
)

// lateCommits is how many callers may have been released from a COMMIT that has
// no answer yet. Beyond it nothing more is begun.
const lateCommits = 4

// late knows the COMMITs under way.
type late struct {
	mu       sync.Mutex
	under    int           // way, waited for or not
	released int           // of them, nobody waits for the answer any more
	none     chan struct{} // closed when under falls to 0; nil while it is 0
}

// full reports that so many COMMITs hang that another one would, too.
func (l *late) full() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.released >= lateCommits
}

// commit runs a COMMIT, which nobody's cancellation ends, and waits for its
// answer no longer than wait: then the caller is told row 10 while the
// connection waits on. after is called with the answer, before anybody learns
// it.
func (l *late) commit(wait time.Duration, commit func() error, after func(error)) error {
	l.mu.Lock()
	if l.under++; l.under == 1 {
		l.none = make(chan struct{})
	}
	l.mu.Unlock()
	answer := make(chan error, 1)
	given := false // up, the caller has; under the lock
	go func() {
		err := commit()
		after(err)
		answer <- err
		l.mu.Lock()
		defer l.mu.Unlock()
		if given {
			l.released--
		}
		if l.under--; l.under == 0 {
			close(l.none)
			l.none = nil
		}
	}()
	patience := time.NewTimer(wait)
	defer patience.Stop()
	select {
	case err := <-answer:
		return err
	case <-patience.C:
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case err := <-answer:
		return err
	default:
	}
	given = true
	l.released++
	return commitUnknown(errors.New("mysql: no answer to COMMIT in time"))
}

// wait returns when no COMMIT is under way or ctx ends.
func (l *late) wait(ctx context.Context) error {
	l.mu.Lock()
	none := l.none
	l.mu.Unlock()
	if none == nil {
		return nil
	}
	select {
	case <-none:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func commitUnknown(err error) error {
	return &refrain.Error{Problem: refrain.ErrCommitUnknown, Row: "10", RetryAfter: time.Second, Err: err}
}

// unsure is the error of a COMMIT whose answer does not say that it failed.
func unsure(err error) error {
	var known *refrain.Error
	if errors.As(err, &known) {
		return err
	}
	return commitUnknown(err)
}
