package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

const defaultCommitWait = refrain.DefaultCommitWait

// errAnswerLost: COMMIT was sent, and nobody knows what came of it.
var errAnswerLost = errors.New("postgres: the answer to COMMIT was lost")

// quiet lets nothing cut COMMIT short or hide its warnings; both settings end
// with the transaction.
const quiet = `SELECT current_setting('synchronous_commit') NOT IN ('off', 'local'),
 set_config('statement_timeout', '0', true), set_config('client_min_messages', 'warning', true)`

// commit sends the statements and COMMIT in one round trip, on nobody's context,
// and waits for the answer at most for patience; then it is errLate, and the
// connection waits on. s is not the caller's any more. An error other than
// errLate, errUnconfirmed and errAnswerLost means that nothing was committed.
func (db *DB) commit(s *session, found seen, statements []statement, patience time.Duration) error {
	own := &session{conn: s.conn, tx: s.tx, hooks: s.hooks, large: s.large}
	s.over = true // the caller may be gone, or look at s, before COMMIT is answered
	err := db.late.commit(&db.tasks, patience, func() error {
		waits := false
		err := db.between("COMMIT", func() (err error) {
			waits, err = own.send(found, statements)
			return err
		})
		if err == nil && own.hooks != nil && found.standbys && waits {
			db.acks.note(found.postmaster, found.xmin)
		}
		if err == nil && own.large {
			_ = own.tx.Commit(context.Background()) // sends afterLarge
		}
		own.rollback() // what is left of it
		return err
	})
	if err == nil && s.hooks == nil && found.standbys {
		err = db.acks.await(context.Background(), patience) // nobody heard the warning, if there was one
	}
	return err
}

// send does one COMMIT and tells what came of it, and whether the effect left it
// to wait for a standby.
func (s *session) send(found seen, statements []statement) (waits bool, err error) {
	ctx := context.Background()
	var b pgx.Batch
	settings := found.timeout || found.standbys
	if settings {
		b.Queue(quiet)
	}
	for _, st := range statements {
		b.Queue(st.sql, st.args...)
	}
	b.Queue("commit")
	if s.hooks != nil {
		s.hooks.unconfirmed.Store(false)
	}
	br := s.conn.SendBatch(ctx, &b)
	if settings {
		err = br.QueryRow().Scan(&waits, nil, nil)
	}
	var tag pgconn.CommandTag
	for n := len(statements); n > 0 && err == nil; n-- {
		_, err = br.Exec()
	}
	if err == nil {
		if tag, err = br.Exec(); err != nil && sqlState(err) != "" {
			err = fmt.Errorf("%w: %w", errAtCommit, err)
		}
	}
	if closing := br.Close(); err == nil {
		err = closing
	}
	switch {
	case err == nil && tag.String() != "COMMIT": // the server rolled back without an error
		return waits, pgx.ErrTxCommitRollback
	case err == nil && s.hooks != nil && s.hooks.unconfirmed.Load():
		return waits, errUnconfirmed
	case err != nil && mayHaveCommitted(err):
		return waits, fmt.Errorf("%w: %w", errAnswerLost, err)
	}
	return waits, err
}

// mayHaveCommitted reports an error after which a COMMIT that was sent may have
// happened. A server's error that leaves the connection alive is an answer: the
// transaction was rolled back. What was never sent was not committed.
func mayHaveCommitted(err error) bool {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		// A proxy that lost its server tells of it in an error like any other.
		return fatalError(err) || strings.HasPrefix(pg.Code, "08") || strings.HasPrefix(pg.Code, "57P")
	}
	var unsent pgx.ErrPreprocessingBatch
	return !pgconn.SafeToRetry(err) && !errors.As(err, &unsent)
}

// errUnconfirmed: COMMIT was acknowledged, and no synchronous standby has it.
var errUnconfirmed = errors.New("postgres: no synchronous standby has confirmed the COMMIT")

// commitUnknown is row 10.
func commitUnknown(err error) error {
	return &record.Error{Problem: record.CommitUnknown, Row: "10", RetryAfter: time.Second, Err: err}
}

// doubtful turns what nobody knows of a COMMIT into row 10.
func doubtful(err error) error {
	if errors.Is(err, errLate) || errors.Is(err, errUnconfirmed) || errors.Is(err, errAnswerLost) {
		return commitUnknown(err)
	}
	return err
}
