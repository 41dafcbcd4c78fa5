package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/refrain-dev/refrain/record"
)

// session is one transaction on a connection of its own, from BEGIN until the
// connection is back in the pool. It belongs to one goroutine at a time.
type session struct {
	conn  *pgxpool.Conn
	tx    pgx.Tx
	hooks *hooks // nil where the pool was not configured
	over  bool
	large bool // pgx's own handle must be ended after COMMIT
}

// begin takes a connection and begins a transaction whose first statement looks
// at the identity and takes its lock if it is free: one round trip.
func (db *DB) begin(ctx context.Context, level pgx.TxIsoLevel, c *record.Claim) (*session, seen, error) {
	if n := db.late.n.Load(); n >= db.most {
		return nil, seen{}, fmt.Errorf("postgres: %d COMMITs wait for their answer: %w", n, record.ErrNotBegun)
	}
	ctx, cancel := db.opts.soon(ctx)
	defer cancel()
	conn, err := db.acquire(ctx)
	if err != nil {
		return nil, seen{}, err
	}
	var b pgx.Batch
	b.BeginTx(pgx.TxOptions{IsoLevel: level, CommitQuery: afterLarge})
	b.Queue(db.sql.lookup, lookupArgs(c.Identity, c.Hash)...)
	br := conn.SendBatch(ctx, &b)
	s := &session{conn: conn, tx: br.Tx(), hooks: hooksOf(conn.Conn())}
	_, err = br.Exec()
	var found seen
	if err == nil {
		found, err = scanLookup(br.QueryRow(), c.Identity)
	}
	if closing := br.Close(); err == nil {
		err = closing
	}
	if err != nil {
		err = unheard(ctx, migrated(err))
		if conn.Conn().IsClosed() && ctx.Err() == nil {
			err = fmt.Errorf("%w: %w", errStale, err)
		}
		s.rollback()
		return nil, seen{}, err
	}
	found.Held = !found.locked
	return s, found, nil
}

// afterLarge ends a handle of pgx's own after our COMMIT, so that large objects
// an effect kept are of no use. It is no statement.
const afterLarge = "-- the transaction has ended"

// pgxRollbackWait is how long a caller waits for the answer to ROLLBACK; then the
// connection is closed, which rolls back as well.
const pgxRollbackWait = time.Second

// rollback gives the transaction up, unless it was ended or handed on already.
func (s *session) rollback() {
	if s.over {
		return
	}
	s.over = true
	if s.status() != idle && !s.conn.Conn().IsClosed() {
		ctx, cancel := context.WithTimeout(context.Background(), pgxRollbackWait)
		defer cancel()
		_ = s.tx.Rollback(ctx) // the pool closes a connection that is not idle again
	}
	s.release()
}

func (s *session) release() {
	s.conn.Release()
	s.conn = nil
}

// What a server says of a connection's transaction.
const (
	idle    = 'I'
	active  = 'T'
	aborted = 'E'
)

func (s *session) status() byte { return s.conn.Conn().PgConn().TxStatus() }

// errStale: the connection was dead before anything was tried on it.
var errStale = errors.New("postgres: the connection was lost")

// fatalError reports an error with which the server ends the connection.
func fatalError(err error) bool {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return false
	}
	return pg.SeverityUnlocalized == "FATAL" || pg.SeverityUnlocalized == "PANIC"
}

// severed reports an error that tells of the connection, not of a statement.
func severed(err error) bool {
	var pg *pgconn.PgError
	return fatalError(err) || !errors.As(err, &pg)
}
