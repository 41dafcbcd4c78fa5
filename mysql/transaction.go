package mysql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/refrain-dev/refrain/record"
)

// transaction is one of the engine's own, READ COMMITTED whatever stands in the
// session. It is not a [sql.Tx], whose BEGIN and ROLLBACK wait for a server that
// does not answer as long as it likes.
type transaction struct {
	db   *DB
	conn *sql.Conn
	q    runner // in it
}

// transact begins one on conn. Whoever gets an error, here or from q, ends with
// rollback.
func (db *DB) transact(ctx context.Context, conn *sql.Conn, texts ...string) (*transaction, error) {
	t := &transaction{db, conn, inlined{conn}}
	ctx, cancel := context.WithTimeout(ctx, db.opts.Busy)
	defer cancel()
	for _, text := range append([]string{"SET TRANSACTION ISOLATION LEVEL READ COMMITTED"}, texts...) {
		if _, err := t.q.ExecContext(ctx, text); err != nil {
			return t, err
		}
	}
	return t, nil
}

// commit is given up by nobody: see [late].
func (t *transaction) commit() error {
	_, err := t.conn.ExecContext(context.Background(), commitSQL)
	return err
}

// rollback leaves the connection without a transaction, or gives it up.
func (t *transaction) rollback() {
	ctx, cancel := context.WithTimeout(context.Background(), t.db.opts.Busy)
	defer cancel()
	if _, err := t.conn.ExecContext(ctx, undoSQL); err != nil {
		_ = t.conn.Raw(func(any) error { return driver.ErrBadConn })
	}
}

// reading runs reads that belong to no call.
func (db *DB) reading(ctx context.Context, read func(ctx context.Context, q runner) error) error {
	ctx, cancel := context.WithTimeout(ctx, db.opts.Busy) // also for a connection: the pool may be in use
	defer cancel()
	conn, err := db.connect(ctx, db.opts.Busy)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	// A transaction that a session without autocommit has left open is of no use
	// to anybody.
	tx, err := db.transact(ctx, conn, "START TRANSACTION READ ONLY")
	if number(err) == errInTransaction {
		tx.rollback()
		tx, err = db.transact(ctx, conn, "START TRANSACTION READ ONLY")
	}
	defer tx.rollback()
	if err != nil {
		return err
	}
	return migrated(read(ctx, tx.q))
}

// waiting bounds one statement that may wait for a row somebody else holds: it
// ends with Busy or with ctx, and the connection with it. Nothing is committed.
func (db *DB) waiting(ctx context.Context, statement func(context.Context) error) error {
	bounded, cancel := context.WithTimeout(ctx, db.opts.Busy)
	defer cancel()
	err := statement(bounded)
	if err != nil && (isLocked(err) || errors.Is(bounded.Err(), context.DeadlineExceeded) && ctx.Err() == nil) {
		err = record.Unavailable(fmt.Errorf("%w: %w", errOperationHeld, err))
	}
	return err
}
