package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/refrain-dev/refrain"
)

// sqlTx is the transaction as an effect of [SQL] gets it: valid until the effect
// ends, and without the verbs that would end it. It sees the errors of its own
// statements alone; those of prepared statements and of rows are seen by
// PostgreSQL, which refuses everything after an error, our record included.
type sqlTx struct {
	tx     SQLTx
	base   context.Context // of the effect; every statement ends with it
	joined bool            // the transaction is its caller's, who may change the schema

	mu     sync.Mutex
	over   bool
	poison error // the first fatal error; every later statement repeats it
	last   error // the latest error of any kind, for whoever wonders what broke
	missed error // the first one of a statement the server does not know of
	met    met
	open   *sql.Rows // what may still be read: a connection has one result at a time
	single *sql.Row
}

// check refuses a statement that must not reach the server.
func (t *sqlTx) check(ctx context.Context, query string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.over:
		return sql.ErrTxDone
	case t.poison != nil:
		return t.poison
	}
	v := verb(query)
	if v == "" && !t.joined {
		v = schemaVerb(query)
	}
	if v != "" {
		t.poison = fmt.Errorf("%w: %s", refrain.ErrOwned, v)
		return t.poison
	}
	if err := ctx.Err(); err != nil {
		t.note(ctx, err)
		return err
	}
	return nil
}

// saw keeps what a statement's error says of the transaction.
func (t *sqlTx) saw(ctx context.Context, err error) error {
	if err != nil {
		t.mu.Lock()
		t.note(ctx, err)
		t.mu.Unlock()
	}
	return err
}

// note is saw where the lock is held.
func (t *sqlTx) note(ctx context.Context, err error) {
	t.last = err
	t.met = t.met.after(ctx, err)
	if t.missed == nil && sqlState(err) == "" { // no error of the server's aborts the transaction
		t.missed = err
	}
	if t.poison == nil && (strings.HasPrefix(sqlState(err), "40") || disconnected(err)) {
		t.poison = err
	}
}

// bound makes a statement end with the effect at the latest.
func (t *sqlTx) bound(ctx context.Context) context.Context {
	switch ctx.Done() {
	case t.base.Done():
		return ctx
	case nil:
		return valued{t.base, ctx}
	}
	both, cancel := context.WithCancelCause(ctx)
	context.AfterFunc(t.base, func() { cancel(context.Cause(t.base)) })
	return both
}

// valued is a context with the values of another one.
type valued struct {
	context.Context
	values context.Context
}

func (v valued) Value(key any) any { return v.values.Value(key) }

func (t *sqlTx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if err := t.check(ctx, query); err != nil {
		return nil, err
	}
	res, err := t.tx.ExecContext(t.bound(ctx), query, args...)
	return res, t.saw(ctx, err)
}

// PrepareContext returns a statement whose errors nobody sees but the effect.
func (t *sqlTx) PrepareContext(ctx context.Context, query string) (*sql.Stmt, error) {
	if err := t.check(ctx, query); err != nil {
		return nil, err
	}
	stmt, err := t.tx.PrepareContext(t.bound(ctx), query)
	return stmt, t.saw(ctx, err)
}

func (t *sqlTx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if err := t.check(ctx, query); err != nil {
		return nil, err
	}
	rows, err := t.tx.QueryContext(t.bound(ctx), query, args...)
	if err == nil {
		t.mu.Lock()
		t.open, t.single = rows, nil
		t.mu.Unlock()
	}
	return rows, t.saw(ctx, err)
}

func (t *sqlTx) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	if err := t.check(ctx, query); err != nil {
		ended, cancel := context.WithCancelCause(ctx)
		cancel(err)
		return t.tx.QueryRowContext(ended, "SELECT 1") // a *sql.Row can only be made by a query: this one fails at once
	}
	row := t.tx.QueryRowContext(t.bound(ctx), query, args...)
	if t.saw(ctx, row.Err()) == nil {
		t.mu.Lock()
		t.open, t.single = nil, row
		t.mu.Unlock()
	}
	return row
}

// end takes the transaction back from the effect and closes what it left open.
// It returns why the transaction must not be committed, if a statement said so.
func (t *sqlTx) end() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return t.poison
	}
	t.over = true
	if t.open != nil {
		if err := errors.Join(t.open.Close(), t.open.Err()); err != nil {
			t.note(t.base, err)
		}
	}
	if t.single != nil {
		_ = t.single.Scan() // closes a row nobody has read
	}
	return t.poison
}

// swallowed is why a result must not be recorded although the effect returned no
// error: a statement of it never reached the server. What is rolled back anyway
// may be refused so.
func (t *sqlTx) swallowed(rejected bool) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.missed == nil || rejected {
		return nil
	}
	return fmt.Errorf("%w: %w", errAborted, t.missed)
}

// cause adds what a statement told before PostgreSQL refused the rest.
func (t *sqlTx) cause(err error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if sqlState(err) == failedTransaction && t.last != nil && t.last != err {
		return errors.Join(t.last, err)
	}
	return err
}

// failedTransaction is the SQLSTATE of every statement after one that failed.
const failedTransaction = "25P02"
