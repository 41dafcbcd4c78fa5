package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

// sqlEffect is an effect of [SQL].
type sqlEffect = func(context.Context, SQLTx) (record.Result, error)

// apply runs the effect in s and returns what it made. Its error is what [SQL]
// answers after rolling back, or one to run the transaction again for.
func (db *SQL) apply(bounded context.Context, s *sqlSession, c *record.Claim, t *sqlTx, began string, effect sqlEffect) (record.Result, error) {
	defer db.overrun(bounded, s, c, began)()
	defer t.end() // also when the effect does not return
	result, err := effect(bounded, t)
	if poison := t.end(); err == nil {
		err = poison
	}
	if err == nil {
		err = t.swallowed(result.Rejected)
	}
	if err == nil {
		err = bounded.Err() // rows that ended early look read to their end
	}
	if err == nil {
		return c.Keep(result)
	}
	return record.Result{}, failed(bounded, s.run, c, t, err)
}

// unrecorded is what it means that the record could not be written after the
// effect.
func unrecorded(bounded context.Context, c *record.Claim, t *sqlTx, err error) error {
	switch {
	case bounded.Err() == nil && sqlState(err) == failedTransaction && t.met.error != nil:
		return t.met.failing(nil)
	case bounded.Err() != nil, sqlState(err) == failedTransaction:
		return c.Failed(bounded, t.cause(err), true)
	case errors.Is(err, errEnded):
		return c.Failed(bounded, fmt.Errorf("%w: %w", refrain.ErrOwned, err), true)
	}
	return err
}

// failed is what an effect's failure means: run it again, the store is not to be
// had, or the effect's own failure.
func failed(bounded context.Context, run runner, c *record.Claim, t *sqlTx, err error) error {
	poison := t.end()
	switch {
	case bounded.Err() != nil:
		return c.Failed(bounded, err, true)
	case retryable(poison):
		return poison
	case poison != nil && disconnected(poison):
		return poison // nothing of it is left
	}
	wrote, aborted := wrote(bounded, run)
	switch {
	case aborted && retryable(err): // not of another database
		return err
	case t.met.spoilt(aborted, err):
		return t.met.failing(err)
	case aborted && outage(err): // rows told of it
		return met{err}.failing(nil)
	}
	return c.Failed(bounded, err, wrote)
}

// wrote reports whether the transaction has changed rows. An aborted one does not
// tell: then it is taken to have.
func wrote(ctx context.Context, run runner) (writing, aborted bool) {
	err := run.row(ctx, `SELECT pg_current_xact_id_if_assigned() IS NOT NULL`).Scan(&writing)
	return err != nil || writing, sqlState(err) == failedTransaction
}

// overrunGrace is how long an effect may go on past MaxExecution until its
// transaction is ended from outside.
const overrunGrace = time.Second

// overrun ends the transaction of an effect that goes on after its bound: its
// locks must not stay for as long as the effect likes. A statement under way
// whose context is the effect's own, on a prepared statement, is ended by
// PostgreSQL, asked on another connection.
func (db *SQL) overrun(bounded context.Context, s *sqlSession, c *record.Claim, began string) (stop func()) {
	deadline, _ := bounded.Deadline()
	t := time.AfterFunc(time.Until(deadline)+db.grace, func() {
		leave, ok := db.tasks.follow()
		if !ok {
			return
		}
		defer leave()
		s.sever()
		ctx, cancel := context.WithTimeout(context.Background(), killPatience)
		defer cancel()
		_ = db.kill(ctx, c.Hash, began)
	})
	return func() { t.Stop() }
}

const killPatience = 5 * time.Second

// killText ends the session that holds the identity's lock, if its transaction is
// still the one that began then.
const killText = `SELECT count(pg_terminate_backend(l.pid)) FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1 AND a.datname = current_database()
 AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
 AND l.classid::int8 = (($1::int8 # $2::int8) >> 32) & 4294967295
 AND l.objid::int8 = ($1::int8 # $2::int8) & 4294967295
 AND encode(timestamptz_send(a.xact_start), 'hex') = $3::text`

func (db *SQL) kill(ctx context.Context, hash [16]byte, began string) error {
	_, err := through{db.handle}.exec(ctx, killText, lockKey(hash), int64(salt(db.opts.Schema)), began)
	return err
}

// disconnected reports an error that tells of the connection, not of a statement.
func disconnected(err error) bool {
	if state := sqlState(err); state != "" {
		return strings.HasPrefix(state, "08") || strings.HasPrefix(state, "57P")
	}
	var network net.Error
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) || errors.Is(err, io.EOF) ||
		errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || errors.As(err, &network) && !errors.Is(err, context.DeadlineExceeded)
}
