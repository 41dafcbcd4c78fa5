package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// acks knows which transactions the synchronous standbys have. A replay is an
// acknowledgement, too: a record can be seen before its COMMIT was confirmed.
//
// When a COMMIT is confirmed, so is everything that had ended when its
// transaction looked around: every transaction below that snapshot's xmin. What
// is not below waits for a barrier, a small transaction of its own; callers share
// it, but only one that begins after they came.
type acks struct {
	emit func(ctx context.Context) (seen, error) // one barrier

	mu         sync.Mutex
	postmaster string // the run of the server xmin belongs to
	xmin       uint64
	next       *round // for those who come while a barrier is under way
	running    bool
	cancel     context.CancelFunc // of the barrier under way
	stopped    bool
	all        sync.WaitGroup
}

// round is one barrier and who waits for it.
type round struct {
	done chan struct{}
	err  error
}

// note remembers that everything below xmin is confirmed on this run of the
// server. Numbers of another run mean nothing here.
func (a *acks) note(postmaster string, xmin uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if postmaster != a.postmaster {
		a.postmaster, a.xmin = postmaster, 0
	}
	a.xmin = max(a.xmin, xmin)
}

// cover reports whether the record's transaction is known to be confirmed.
func (a *acks) cover(found seen) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return found.postmaster == a.postmaster && found.xid < a.xmin
}

// await waits for a barrier that begins from now on. Its errors are those of a
// COMMIT nobody can vouch for.
func (a *acks) await(ctx context.Context, patience time.Duration) error {
	a.mu.Lock()
	if a.stopped {
		a.mu.Unlock()
		return errors.Join(errUnconfirmed, errTasksClosed)
	}
	r := a.next
	if r == nil {
		r = &round{done: make(chan struct{})}
		a.next = r
	}
	if !a.running {
		a.running = true
		ctx, cancel := context.WithCancel(context.Background())
		a.cancel = cancel
		a.all.Go(func() { a.run(ctx) })
	}
	a.mu.Unlock()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-r.done:
		if r.err != nil {
			return fmt.Errorf("%w: %w", errUnconfirmed, r.err)
		}
		return nil
	case <-timer.C:
		return errLate
	case <-ctx.Done():
		return errors.Join(errUnconfirmed, context.Cause(ctx))
	}
}

// run does barriers as long as somebody waits for one.
func (a *acks) run(ctx context.Context) {
	for {
		a.mu.Lock()
		r := a.next
		a.next = nil
		if r == nil {
			a.running = false
			a.cancel()
			a.mu.Unlock()
			return
		}
		a.mu.Unlock()
		var found seen
		if found, r.err = a.emit(ctx); r.err == nil {
			a.note(found.postmaster, found.xmin)
		}
		close(r.done)
	}
}

// stop ends the barrier under way; nobody gets another one.
func (a *acks) stop() {
	a.mu.Lock()
	a.stopped = true
	if a.running {
		a.cancel()
	}
	a.mu.Unlock()
	a.all.Wait()
}

const (
	aroundText  = `SELECT ` + around
	barrierText = `SELECT pg_logical_emit_message(true, 'refrain', ''),
 CASE WHEN current_setting('synchronous_commit') IN ('off', 'local') THEN set_config('synchronous_commit', 'on', true) END`
)

// barrierPatience is how long a barrier may take; whoever waits for it has a
// patience of their own.
const barrierPatience = time.Minute

// emit is one barrier: a transaction that writes nothing but log, whose COMMIT
// the standbys have to confirm like any other.
func (db *DB) emit(ctx context.Context) (found seen, err error) {
	ctx, cancel := context.WithTimeout(ctx, barrierPatience)
	defer cancel()
	conn, err := db.acquire(ctx)
	if err != nil {
		return seen{}, err
	}
	s := &session{conn: conn, hooks: hooksOf(conn.Conn())}
	var b pgx.Batch
	b.BeginTx(pgx.TxOptions{IsoLevel: pgx.ReadCommitted})
	b.Queue(aroundText)
	b.Queue(quiet)
	b.Queue(barrierText)
	b.Queue("commit")
	if s.hooks != nil {
		s.hooks.unconfirmed.Store(false)
	}
	br := conn.SendBatch(ctx, &b)
	s.tx = br.Tx()
	defer s.rollback()
	found, err = begun(br)
	if err == nil && s.hooks != nil && s.hooks.unconfirmed.Load() {
		err = errUnconfirmed
	}
	return found, err
}

// confirmed returns once the record that was seen may be told: at once where no
// standby is waited for or the record is known to be confirmed, else behind a
// barrier.
func (a *acks) confirmed(ctx context.Context, found seen, patience time.Duration) error {
	if found.Record == nil || !found.standbys || a.cover(found) {
		return nil
	}
	if err := a.await(ctx, patience); err != nil {
		return commitUnknown(err)
	}
	return nil
}
