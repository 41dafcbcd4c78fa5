package mysql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"strings"

	"github.com/refrain-dev/refrain"
)

// innerConn is what the driver's connections can do.
type innerConn interface {
	driver.Conn
	driver.ConnPrepareContext
	driver.ConnBeginTx
	driver.ExecerContext
	driver.QueryerContext
	driver.NamedValueChecker
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

// guard is a driver connection of ours. It sees every statement, prepared ones,
// rows and scans included, and knows whose turn it is: the engine's own, or an
// effect's. database/sql never calls it twice at a time. A handle whose turn is
// over gets [sql.ErrTxDone], whatever goroutine still holds it.
type guard struct {
	inner  innerConn
	id     int64 // of the connection, on the server
	maria  bool
	packet int64 // max_allowed_packet
	blocks bool  // those of [keepSQL] are prepared

	recalling innerStmt // recallSQL, once it was asked for

	turn  *turn // nil: the engine's own
	stmts map[*stmt]bool
	rows  map[*rows]bool
	dirty bool // not to be given back
}

// begin hands the connection to t.
func (g *guard) begin(t *turn) { g.turn = t }

// reclaim makes the connection the engine's again and closes what the turn left
// open. It returns how many results those were: whoever holds them keeps the
// connection from being given back.
func (g *guard) reclaim() int {
	left := len(g.rows)
	for r := range g.rows {
		_ = r.Close()
	}
	for s := range g.stmts {
		_ = s.Close()
	}
	g.turn = nil
	return left
}

// admit checks that a statement of ctx may run now, and whose it is.
func (g *guard) admit(ctx context.Context, query string) (*turn, error) {
	t := turnOf(ctx)
	switch {
	case t != g.turn:
		return nil, sql.ErrTxDone
	case t == nil:
		return nil, nil
	}
	if err := t.admit(ctx); err != nil {
		return nil, err
	}
	if err := allowed(query, true); err != nil && !isOwn(ctx) {
		return nil, t.spoil(err)
	}
	return t, nil
}

// several reports that a text may be more than one statement. Such a text of an
// effect is never sent as it is: the server prepares one statement only, and
// refuses more.
func several(query string) bool { return strings.Contains(query, ";") }

// apart reports a statement that is to be prepared: its arguments travel apart
// from its text. The engine's own have none, see [inlined].
func apart(t *turn, query string, args []driver.NamedValue) bool {
	return t != nil && several(query) || !plain(query, args)
}

func (g *guard) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	t, err := g.admit(ctx, query)
	if err != nil {
		return nil, err
	}
	if apart(t, query, args) {
		return nil, driver.ErrSkip
	}
	res, err := g.inner.ExecContext(ctx, query, args)
	if t == nil {
		return res, err
	}
	return res, noted(t, query, res, err)
}

// noted looks at what a statement of t did.
func noted(t *turn, query string, res driver.Result, err error) error {
	if err != nil {
		return t.settle(err)
	}
	n, unknown := res.RowsAffected()
	t.note(n != 0 || unknown != nil || calls(query))
	return nil
}

func (g *guard) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	t, err := g.admit(ctx, query)
	if err != nil {
		return nil, err
	}
	if apart(t, query, args) {
		return nil, driver.ErrSkip
	}
	in, err := g.inner.QueryContext(ctx, query, args)
	if t == nil {
		return in, err
	}
	if err != nil {
		return nil, t.settle(err)
	}
	t.note(!reads(query))
	return g.watch(t, in), nil
}

func (g *guard) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	t, err := g.admit(ctx, query)
	if err != nil {
		return nil, err
	}
	in, err := g.inner.PrepareContext(ctx, query)
	if t == nil {
		return in, err
	}
	if err != nil {
		return nil, t.settle(err)
	}
	s := &stmt{g: g, t: t, query: query, inner: in.(innerStmt)}
	if g.stmts == nil {
		g.stmts = make(map[*stmt]bool)
	}
	g.stmts[s] = true
	return s, nil
}

// BeginTx is the engine's own; an effect has a transaction.
func (g *guard) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	if g.turn != nil {
		return nil, refrain.ErrOwned
	}
	return g.inner.BeginTx(ctx, opts)
}

func (g *guard) CheckNamedValue(v *driver.NamedValue) error { return g.inner.CheckNamedValue(v) }
func (g *guard) Ping(ctx context.Context) error             { return g.inner.Ping(ctx) }
func (g *guard) ResetSession(ctx context.Context) error     { return g.inner.ResetSession(ctx) }
func (g *guard) Close() error                               { return g.inner.Close() }

// IsValid reports whether the pool may keep the connection: not with a user lock
// or a transaction that nobody knows the state of.
func (g *guard) IsValid() bool { return !g.dirty && g.turn == nil && g.inner.IsValid() }

// Prepare and Begin complete [driver.Conn]; database/sql uses the context forms.
func (g *guard) Prepare(query string) (driver.Stmt, error) {
	return g.PrepareContext(context.Background(), query)
}

func (g *guard) Begin() (driver.Tx, error) {
	return g.BeginTx(context.Background(), driver.TxOptions{})
}
