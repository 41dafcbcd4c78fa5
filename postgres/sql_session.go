package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// sqlSession is one transaction on a connection of its own, from BEGIN until the
// connection is back in its pool.
type sqlSession struct {
	db    *SQL
	conn  *sql.Conn
	tx    *sql.Tx
	run   through
	hooks *hooks // nil where notices cannot be heard
	// sever ends the transaction from outside: database/sql rolls it back as soon
	// as no statement is under way, and drivers do so at once where they can.
	sever context.CancelFunc
	waits bool // its COMMIT waits for the standbys
	over  bool // somebody ends it, or has
}

// begin takes a connection and begins a transaction. BEGIN is sent again where
// the connection turns out to be dead.
func (db *SQL) begin(ctx context.Context, level sql.IsolationLevel) (s *sqlSession, err error) {
	if err := db.late.admit(); err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		conn, err := db.connect(ctx)
		if err != nil {
			return nil, err
		}
		s, err = db.beginOn(ctx, conn, level)
		if err == nil || try == staleTries || !disconnected(err) || ctx.Err() != nil {
			return s, err
		}
	}
}

// beginOn makes a transaction that outlives ctx, because database/sql would
// otherwise roll it back under the feet of whoever commits. An error closes the
// connection.
func (db *SQL) beginOn(ctx context.Context, conn *sql.Conn, level sql.IsolationLevel) (*sqlSession, error) {
	own, sever := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, sever)
	tx, err := conn.BeginTx(own, &sql.TxOptions{Isolation: level})
	if !stop() && err == nil {
		err = errors.Join(context.Cause(ctx), tx.Rollback())
	}
	if err != nil {
		sever()
		discard(conn)
		return nil, fmt.Errorf("postgres: BEGIN: %w", err)
	}
	return &sqlSession{db: db, conn: conn, tx: tx, run: through{tx}, hooks: hooksOn(conn), sever: sever}, nil
}

// rollbackWait is how long a caller waits for the answer to ROLLBACK. The
// connection is cut off then.
const rollbackWait = time.Second

// rollback gives the transaction up, unless it was ended already. Its connection
// goes back to the pool or is closed; an answer that does not come holds nobody
// up.
func (s *sqlSession) rollback() {
	if s.over {
		return
	}
	s.over = true
	if !s.db.tasks.within(rollbackWait, func() { s.close(s.tx.Rollback()) }) {
		s.sever()
	}
}

// close gives the connection back; err is what ended the transaction. What
// failed without a word of the server's is in no known state.
func (s *sqlSession) close(err error) {
	s.sever()
	if err != nil && sqlState(err) == "" && !errors.Is(err, errUnconfirmed) {
		discard(s.conn)
		return
	}
	_ = s.conn.Close()
}

// commit sends COMMIT and waits for its answer, at most for patience. Nobody's
// cancellation reaches it. Its errors are errLate, errUnconfirmed
// and the driver's.
func (s *sqlSession) commit(patience time.Duration) error {
	s.over = true
	return s.db.late.commit(&s.db.tasks, patience, func() error {
		if s.hooks != nil {
			s.hooks.unconfirmed.Store(false)
		}
		err := s.tx.Commit()
		if err == nil && s.hooks != nil && s.hooks.unconfirmed.Load() {
			err = errUnconfirmed
		}
		s.close(err)
		return err
	})
}
