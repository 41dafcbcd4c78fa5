package mysql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"time"

	"github.com/refrain-dev/refrain/record"
)

// session is one connection during one attempt.
type session struct {
	db    *DB
	conn  *sql.Conn
	q     runner // on it, for the engine's own statements
	guard *guard // nil on a foreign connection
	claim *record.Claim
	ended bool // the transaction, by COMMIT or because the connection is given up
	left  int  // results an effect has left open
	wrote bool // the record, ahead of COMMIT

	locked bool // the lock was asked for
}

// open takes a connection for c.
func (db *DB) open(ctx context.Context, c *record.Claim) (*session, error) {
	conn, err := db.connect(ctx, db.opts.Busy)
	if err != nil {
		return nil, err
	}
	s := &session{db: db, conn: conn, q: inlined{conn}, claim: c, locked: !db.noLock.Load()}
	if db.owned {
		err = conn.Raw(func(dc any) error {
			s.guard = dc.(*guard)
			return nil
		})
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return s, nil
}

// own bounds a statement of the engine's that precedes COMMIT. The caller's
// cancellation does not reach it: the driver would close the connection.
func (s *session) own(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), s.db.opts.Busy)
}

// leave ends what is left of the attempt and gives the connection back, or
// closes it if its state is not certain.
func (s *session) leave() {
	if s.ended {
		return
	}
	s.ended = true
	ctx, cancel := s.own(context.Background())
	defer cancel()
	s.giveBack(s.undo(ctx) == nil)
}

// undo rolls back and releases the lock.
func (s *session) undo(ctx context.Context) error {
	if s.guard != nil {
		_, err := s.q.ExecContext(ctx, s.texts().undo)
		return err
	}
	_, err := s.q.ExecContext(ctx, undoSQL)
	if err != nil {
		return err
	}
	return s.unlock(ctx)
}

// unlock releases the lock on a foreign connection. Anything but "released", or
// "nobody has it", leaves the connection in doubt.
func (s *session) unlock(ctx context.Context) error {
	if !s.locked {
		return nil
	}
	var mine sql.NullInt64
	err := s.q.QueryRowContext(ctx, dropLock, s.claim.Hash[:]).Scan(&mine)
	if s.db.noLock.Load() && noSuchLock(ofLock(true, err)) { // nor was there one to be got
		return nil
	}
	return err
}

// giveBack returns the connection to its pool, or closes it. Results an effect
// has left open keep it; nobody waits for those.
func (s *session) giveBack(clean bool) {
	if s.guard != nil {
		if !clean {
			s.guard.dirty = true // the pool closes it
		}
		if s.left > 0 {
			go func() { _ = s.conn.Close() }()
			return
		}
		_ = s.conn.Close()
		return
	}
	returned := make(chan struct{})
	go func() {
		defer close(returned)
		if !clean {
			_ = s.conn.Raw(func(any) error { return driver.ErrBadConn })
		}
		_ = s.conn.Close()
	}()
	late := time.NewTimer(s.db.opts.Busy)
	defer late.Stop()
	select {
	case <-returned:
	case <-late.C:
	}
}
