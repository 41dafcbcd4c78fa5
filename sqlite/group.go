package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

// Bounds of a group.
const (
	groupMembers = 256
	groupTime    = 5 * time.Millisecond
	slowEffect   = 100 * time.Millisecond // an operation slower than this goes alone
	slowFor      = 10 * time.Second       // for this long
	overrun      = 50 * time.Millisecond  // beyond MaxExecution, then the leader takes over
	maxTries     = 3                      // runs of one member that ended without a known outcome
)

// writer is the one connection that writes and the queue before it.
//
// Concurrent callers share one transaction, a savepoint each. The group is led
// by a goroutine that the first waiter starts and that ends when nobody waits;
// it runs no effect. It passes the connection to each member's own goroutine,
// one owner at a time, and alone begins and commits, under no caller's context.
// Members are acknowledged after COMMIT, all of them or none.
type writer struct {
	connect func(context.Context) (*sql.Conn, *guard, error)
	release bool // give the connection back after each group
	groups  bool // members may share a transaction
	busy    time.Duration
	check   func() error  // whether the file is still the one that was opened
	span    time.Duration // how long a group collects members

	// between stands between the leader and the connection; tests set it.
	between func(statement string, run func() error) error

	mu      sync.Mutex
	queue   []*member
	leading bool
	closed  bool
	idle    *sync.Cond

	// Only the leader touches these.
	conn  *sql.Conn
	guard *guard
	run   runner
	slow  map[string]time.Time // operation → until when it goes alone
}

func (w *writer) enqueue(m *member) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return errClosed
	}
	w.queue = append(w.queue, m)
	if !w.leading {
		w.leading = true
		go w.lead()
	}
	return nil
}

// leave takes m out of the queue; false when its turn has come. If the caller
// goes even so, m is never queued again: nobody would take its turn.
func (w *writer) leave(m *member, anyway bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := slices.Index(w.queue, m)
	if i < 0 {
		m.left = anyway
		return false
	}
	w.queue = slices.Delete(w.queue, i, i+1)
	return true
}

// next takes the member whose turn it is: nil when nobody waits, or when the
// first in line goes alone and the group has begun.
func (w *writer) next(begun bool) *member {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.queue) == 0 {
		return nil
	}
	m := w.queue[0]
	if until, ok := w.slow[m.name]; ok {
		if time.Now().Before(until) {
			m.alone = true
		} else {
			delete(w.slow, m.name)
		}
	}
	if begun && (m.alone || !w.groups) {
		return nil
	}
	w.queue = slices.Delete(w.queue, 0, 1)
	return m
}

func (w *writer) lead() {
	for {
		w.mu.Lock()
		if len(w.queue) == 0 {
			if w.closed {
				w.discard() // also when close did not wait
			}
			w.leading = false
			w.idle.Broadcast()
			w.mu.Unlock()
			return
		}
		w.mu.Unlock()
		w.group()
		if w.release {
			w.discard()
		}
	}
}

// group runs one transaction.
func (w *writer) group() {
	if err := w.begin(); err != nil {
		w.fail(err)
		return
	}
	var members []*member
	for started := time.Now(); ; {
		m := w.next(len(members) > 0)
		if m == nil {
			break
		}
		kept, err := w.turn(m)
		if err != nil {
			w.giveUp(members, m, err)
			return
		}
		if kept {
			members = append(members, m)
		}
		if m.alone || len(members) == groupMembers || time.Since(started) > w.span {
			break
		}
	}
	w.commit(members)
}

// turn gives m the connection inside a savepoint. kept: its work waits for
// COMMIT. An error means that the transaction is gone or cannot be trusted.
func (w *writer) turn(m *member) (kept bool, err error) {
	if err := w.exec("SAVEPOINT refrain"); err != nil {
		return false, err
	}
	started := time.Now()
	stop, interrupt := context.WithCancel(context.Background())
	defer interrupt()
	if w.guard != nil {
		w.guard.setStop(stop)
	}
	m.session <- &session{conn: w.conn, guard: w.guard, run: w.run, m: m}
	err = w.await(m, interrupt)
	if w.guard != nil {
		w.guard.setStop(context.Background())
		if !w.guard.inTransaction() {
			return false, errors.Join(errGone, err)
		}
	}
	if time.Since(started) > slowEffect && m.name != "" {
		w.remember(m.name)
	}
	if err == nil && w.guard != nil {
		// A deferred constraint passes RELEASE and would fail COMMIT for all.
		if n, statusErr := w.guard.deferredViolations(); statusErr != nil || n > 0 {
			err = &refrain.Error{Problem: refrain.ErrEffectFailed, Wrote: true,
				Err: errors.Join(statusErr, errors.New("sqlite: a deferred foreign key is violated"))}
		}
	}
	if err != nil {
		if undo := w.exec("ROLLBACK TO refrain"); undo != nil {
			return false, errors.Join(undo, err)
		}
	}
	if release := w.exec("RELEASE refrain"); release != nil {
		return false, errors.Join(release, err)
	}
	if err != nil {
		m.done <- m.told(err)
		return false, nil
	}
	return true, nil
}

// await waits until m hands the connection back. One whose effect runs over is
// interrupted and its handle revoked; the effect's goroutine is left to itself.
func (w *writer) await(m *member, interrupt func()) error {
	var late <-chan time.Time
	var timer *time.Timer
	if m.limit > 0 {
		timer = time.NewTimer(m.limit + overrun)
		defer timer.Stop()
		late = timer.C
	}
	for {
		select {
		case err := <-m.back:
			return err
		case <-late:
			t := m.turn.Load()
			if t == nil {
				timer.Reset(overrun) // in the engine's own statements, before or after the effect
				continue
			}
			if t.finish() { // first, so that the effect cannot end by what interrupts it
				interrupt()
				if w.guard != nil {
					w.guard.reclaim()
				}
				m.revoked = true
				return &refrain.Error{Problem: refrain.ErrNotExecuted, Row: "14",
					Err: fmt.Errorf("sqlite: the effect did not end within %v", m.limit)}
			}
			late = nil // it has just ended by itself
		}
	}
}

// begin opens the transaction. While another process holds the lock it asks
// again as long as somebody waits; the callers' own patience ends that.
func (w *writer) begin() error {
	reopened := false
	for attempt := 0; ; attempt++ {
		err := w.check()
		if err != nil {
			w.discard()
			return err
		}
		if err = w.dial(); err == nil {
			err = w.exec("BEGIN IMMEDIATE")
		}
		switch {
		case err == nil:
			return nil
		case busy(err):
			if !w.waited() {
				return errBusy
			}
			time.Sleep(record.Backoff(time.Millisecond, 10*time.Millisecond, attempt))
		case reopened:
			w.discard()
			return err
		default:
			w.discard()
			reopened = true
		}
	}
}

// dial connects if there is no connection.
func (w *writer) dial() (err error) {
	if w.conn != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), w.busy)
	defer cancel()
	w.conn, w.guard, err = w.connect(ctx)
	w.run = foreign{w.conn}
	if w.guard != nil {
		w.run = w.guard
	}
	return err
}

// waited reports whether anybody still waits.
func (w *writer) waited() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.queue) > 0
}

// commit ends the transaction and acknowledges its members.
func (w *writer) commit(members []*member) {
	err := w.exec("COMMIT")
	for attempt := 0; busy(err) && attempt < 100; attempt++ {
		time.Sleep(record.Backoff(time.Millisecond, 20*time.Millisecond, attempt))
		err = w.exec("COMMIT")
	}
	switch {
	case err == nil:
		for _, m := range members {
			m.done <- nil
		}
	case len(members) == 1 && refused(err):
		w.discard()
		if errors.Is(err, sqlite3.CONSTRAINT) {
			err = &refrain.Error{Problem: refrain.ErrEffectFailed, Wrote: true, Err: err}
		}
		members[0].done <- err
	default:
		w.giveUp(members, nil, err)
	}
}

// refused reports a COMMIT that certainly did not happen.
func refused(err error) bool {
	return errors.Is(err, sqlite3.CONSTRAINT) || errors.Is(err, sqlite3.FULL) || errors.Is(err, sqlite3.READONLY)
}

// giveUp acknowledges nobody: the connection is closed, which rolls back what
// stands, and every member starts again alone, with its lookup, because COMMIT
// may have happened. The culprit's statement ended the group: it is told when
// nobody else could have been the reason, and its operation goes alone for a
// while.
func (w *writer) giveUp(members []*member, culprit *member, err error) {
	w.discard()
	if culprit != nil {
		w.remember(culprit.name)
		if len(members) == 0 {
			culprit.done <- culprit.told(cause(err))
			return
		}
		members = append(members, culprit)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	var again []*member
	for _, m := range members {
		m.tries++
		m.alone = true
		m.unsure = m.unsure || culprit == nil
		switch {
		case m.revoked:
			m.done <- cause(err)
		case m.left, m.tries >= maxTries, m.unsure && m.name == "": // the engine's own work has no lookup
			m.done <- commitUnknown(err)
		default:
			again = append(again, m)
		}
	}
	w.queue = append(again, w.queue...)
}

// cause picks what the member is told out of what ended its transaction.
func cause(err error) error {
	var refusal *refrain.Error
	if errors.As(err, &refusal) {
		return refusal
	}
	if fatal(err) && !errors.Is(err, refrain.ErrOwned) {
		return err // storage has failed, not the effect
	}
	if errors.Is(err, errGone) || errors.Is(err, errAbandoned) {
		return &refrain.Error{Problem: refrain.ErrEffectFailed, Wrote: true, Err: err}
	}
	return err
}

// fail tells everybody in line that the writer cannot be had.
func (w *writer) fail(err error) {
	w.mu.Lock()
	queue := w.queue
	w.queue = nil
	w.mu.Unlock()
	for _, m := range queue {
		m.done <- m.told(fmt.Errorf("%w: %w", record.ErrNotBegun, err))
	}
}

// remember sends an operation alone for a while.
func (w *writer) remember(name string) {
	if name == "" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	maps.DeleteFunc(w.slow, func(_ string, until time.Time) bool { return now.After(until) })
	w.slow[name] = now.Add(slowFor)
}

func (w *writer) exec(statement string) error {
	run := func() error {
		_, err := w.run.exec(context.Background(), statement)
		return err
	}
	if w.between != nil {
		return w.between(statement, run)
	}
	return run()
}

// discard gives the connection up. One of ours is closed, which rolls back
// whatever stands; a foreign one is rolled back and returned to its pool.
func (w *writer) discard() {
	if w.conn == nil {
		return
	}
	if w.guard == nil {
		_ = w.exec("ROLLBACK") // no transaction stands after a COMMIT: the error says just that
		giveBack(w.conn, w.busy)
	} else {
		_ = w.guard.Close()
		_ = w.guard.pool.Close()
	}
	w.conn, w.guard, w.run = nil, nil, nil
}

// close refuses new callers and waits for the leader, then closes the connection.
func (w *writer) close(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	unblock := context.AfterFunc(ctx, func() {
		w.mu.Lock()
		w.idle.Broadcast()
		w.mu.Unlock()
	})
	defer unblock()
	for w.leading && ctx.Err() == nil {
		w.idle.Wait()
	}
	if w.leading {
		return ctx.Err()
	}
	w.discard()
	return nil
}
