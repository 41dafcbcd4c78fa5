package postgres

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/refrain-dev/refrain/record"
)

// LateCommits is how many COMMITs may wait for their answer after their callers
// were released; beyond it nothing is begun.
const LateCommits = 4

// lateCommits counts them. The zero value is ready.
type lateCommits struct{ n atomic.Int32 }

// admit refuses to begin while too many COMMITs have no answer.
func (l *lateCommits) admit() error {
	if n := l.n.Load(); n >= LateCommits {
		return fmt.Errorf("postgres: %d COMMITs wait for their answer: %w", n, record.ErrNotBegun)
	}
	return nil
}

// errLate: COMMIT has not been answered in time; its connection waits on.
var errLate = errors.New("postgres: COMMIT has not been answered yet")

// commit runs send, which sends COMMIT and returns what came of it, and waits
// for it at most for patience; then it is errLate, and send goes on.
func (l *lateCommits) commit(t *tasks, patience time.Duration, send func() error) error {
	const ended, late = 1, 2
	var state atomic.Int32
	result := make(chan error, 1)
	if t.within(patience, func() {
		err := send()
		result <- err
		if !state.CompareAndSwap(0, ended) {
			l.n.Add(-1)
		}
	}) || !state.CompareAndSwap(0, late) {
		return <-result
	}
	l.n.Add(1)
	return errLate
}
