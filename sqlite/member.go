package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"sync/atomic"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

// member is one caller waiting for the writer. Its work runs on the caller's
// own goroutine, so a panic or Goexit stays there.
type member struct {
	ctx      context.Context
	name     string        // operation, "" for the engine's own work
	patience time.Duration // how long the caller waits for its turn
	limit    time.Duration // how long the work may take before the leader takes over
	commit   time.Duration // how long the caller waits for COMMIT's answer
	work     func(*session) error

	session chan *session // the leader hands the connection over; cap 1
	back    chan error    // the member hands it back with its work's error; cap 1
	done    chan error    // nil once committed; cap 1

	// The leader's notes.
	alone   bool // shares its transaction with nobody
	tries   int
	unsure  bool // a COMMIT of its work was tried and has no certain outcome
	revoked bool // its effect ran over and its turn was taken back

	left bool // nobody waits for the outcome any more; under the writer's lock

	turn atomic.Pointer[turn] // while the effect runs
}

// session is the connection during one member's turn.
type session struct {
	conn  *sql.Conn
	guard *guard // nil on a foreign connection
	run   runner // the engine's statements
	m     *member
}

// do queues m and waits for its outcome. A caller that is cancelled or out of
// patience before its turn leaves the queue; nothing was executed then. One
// whose work is done and whose COMMIT has no answer in time is row 10.
func (w *writer) do(m *member) error {
	m.session = make(chan *session, 1)
	m.back = make(chan error, 1)
	m.done = make(chan error, 1)
	if err := w.enqueue(m); err != nil {
		return err
	}
	patience := time.NewTimer(m.patience)
	defer patience.Stop()
	cancelled := m.ctx.Done()
	worked := false
	for {
		select {
		case s := <-m.session:
			m.perform(s)
			worked = true
			patience.Reset(m.commit)
			cancelled = nil // the outcome belongs to the leader now
		case err := <-m.done:
			return err
		case <-cancelled:
			if w.leave(m, false) {
				return m.told(context.Cause(m.ctx))
			}
			cancelled = nil // its turn is coming up at this moment
		case <-patience.C:
			if w.leave(m, worked) {
				return m.told(errBusy)
			}
			if !worked {
				patience.Reset(m.commit)
				continue
			}
			select {
			case err := <-m.done:
				return err
			default:
				return commitUnknown(errors.New("sqlite: no answer to COMMIT in time"))
			}
		}
	}
}

// told is what the caller learns of err: nothing was executed, unless an
// earlier COMMIT may have happened.
func (m *member) told(err error) error {
	if err != nil && m.unsure {
		return commitUnknown(err)
	}
	return err
}

func commitUnknown(err error) error {
	return &refrain.Error{Problem: refrain.ErrCommitUnknown, Row: "10", RetryAfter: time.Second, Err: err}
}

// perform runs the work and hands the connection back, also when the work
// panics or exits its goroutine.
func (m *member) perform(s *session) {
	err := errAbandoned
	defer func() {
		if err == errAbandoned {
			if t := m.turn.Load(); t != nil && !s.end(t) {
				return // the leader has the connection already
			}
		}
		if err == errRevoked {
			return
		}
		m.back <- err
	}()
	err = m.work(s)
}

// errRevoked: the leader took the connection back; it is nobody's error to tell.
var errRevoked = errors.New("sqlite: the turn was taken back")

func (s *session) end(t *turn) bool {
	if s.guard != nil {
		return s.guard.end(t)
	}
	return t.finish()
}

// written counts the rows written on the connection.
func (s *session) written(ctx context.Context) (n int64, err error) {
	if s.guard != nil {
		return s.guard.changes(), nil
	}
	return totalChanges(ctx, s.run)
}

func totalChanges(ctx context.Context, q runner) (n int64, err error) {
	err = q.row(ctx, `SELECT total_changes()`, func(r row) error {
		n = r.integer(0)
		return nil
	})
	return n, err
}

// lend gives the connection to work for one turn. On a foreign connection a
// savepoint of its own tells afterwards whether the transaction still stands:
// outside of one, the record would commit alone.
func (s *session) lend(t *turn, work func(Tx) error) error {
	if s.guard == nil {
		if _, err := s.run.exec(context.Background(), "SAVEPOINT refrain_turn"); err != nil {
			return err
		}
	}
	s.m.turn.Store(t)
	if s.guard != nil {
		s.guard.begin(t)
	}
	err := work(handle{conn: s.conn, turn: t, guard: s.guard})
	if !s.end(t) {
		return errRevoked
	}
	s.m.turn.Store(nil)
	if s.guard == nil {
		if _, gone := s.run.exec(context.Background(), "RELEASE refrain_turn"); gone != nil {
			_ = t.spoil(errors.Join(errGone, gone))
		}
	}
	return err
}

// effect runs the caller's effect as a turn of its own and returns its result.
func (s *session) effect(c *record.Claim, rec *record.Record, fn func(context.Context, Tx) (record.Result, error)) (record.Result, error) {
	before, err := s.written(context.Background())
	if err != nil {
		return record.Result{}, err
	}
	ctx, cancel := c.Bound(s.m.ctx, rec)
	defer cancel()
	t := &turn{base: ctx}
	var result record.Result
	err = s.lend(t, func(tx Tx) (err error) {
		result, err = fn(ctx, tx)
		return err
	})
	if err == errRevoked {
		return record.Result{}, err
	}
	if poison := t.poisoned(); poison != nil {
		storage := fatal(poison) && !errors.Is(poison, refrain.ErrOwned)
		if storage && ctx.Err() == nil {
			return record.Result{}, record.Unavailable(poison)
		}
		err = poison
	}
	if err == nil && ctx.Err() != nil && (s.guard == nil || s.m.ctx.Err() == nil) {
		err = ctx.Err() // it ran over, or statements nobody watched were cut, whatever it says
	}
	if err != nil {
		after, countErr := s.written(context.Background())
		return record.Result{}, c.Failed(ctx, err, countErr != nil || after != before)
	}
	return c.Keep(result)
}
