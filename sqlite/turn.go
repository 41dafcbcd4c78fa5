package sqlite

import (
	"context"
	"database/sql"
	"sync"
)

// turn is one member's ownership of the connection while its effect runs.
type turn struct {
	base    context.Context // of the effect; ends with it
	trusted bool            // the application's own work: only the transaction is not its to end

	mu     sync.Mutex
	over   bool
	poison error // the first fatal error; every later statement repeats it
}

type turnKey struct{}

// with marks ctx as acting for t.
func (t *turn) with(ctx context.Context) context.Context { return context.WithValue(ctx, turnKey{}, t) }

func turnOf(ctx context.Context) *turn {
	t, _ := ctx.Value(turnKey{}).(*turn)
	return t
}

// finish ends the turn once: ok is true for whoever was first, the member that
// is done or the leader that takes the connection back.
func (t *turn) finish() (ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	ok = !t.over
	t.over = true
	return ok
}

// check refuses a statement after the turn or after a fatal error.
func (t *turn) check() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return sql.ErrTxDone
	}
	return t.poison
}

// spoil keeps the first fatal error.
func (t *turn) spoil(err error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.poison == nil {
		t.poison = err
	}
	return err
}

// cut refuses a statement whose context has ended. If it ended for the whole
// effect, that is fatal: ignored, it would leave half of the effect.
func (t *turn) cut(err error) error {
	if t.base.Err() != nil {
		return t.spoil(err)
	}
	return err
}

func (t *turn) poisoned() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.poison
}

// handle is the [Tx] an effect gets. On a connection of ours the guard checks
// every statement; on a foreign one the handle does what can be done from
// outside.
type handle struct {
	conn  *sql.Conn
	turn  *turn
	guard *guard // nil on a foreign connection
}

// ctx marks the statement as the turn's. It ends with the effect at the latest,
// and with it rows that were left open.
func (h handle) ctx(ctx context.Context) context.Context {
	base := h.turn.base
	switch ctx.Done() {
	case base.Done():
	case nil:
		ctx = base
	default:
		both, cancel := context.WithCancel(ctx)
		context.AfterFunc(base, cancel)
		ctx = both
	}
	return h.turn.with(ctx)
}

func (h handle) before(ctx context.Context) error {
	if h.guard != nil {
		return nil
	}
	if err := h.turn.check(); err != nil {
		return err
	}
	return ctx.Err()
}

func (h handle) after(err error) error {
	if h.guard == nil && fatal(err) {
		return h.turn.spoil(err)
	}
	return err
}

func (h handle) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if err := h.before(ctx); err != nil {
		return nil, err
	}
	res, err := h.conn.ExecContext(h.ctx(ctx), query, args...)
	return res, h.after(err)
}

func (h handle) PrepareContext(ctx context.Context, query string) (*sql.Stmt, error) {
	if err := h.before(ctx); err != nil {
		return nil, err
	}
	stmt, err := h.conn.PrepareContext(h.ctx(ctx), query)
	return stmt, h.after(err)
}

func (h handle) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if err := h.before(ctx); err != nil {
		return nil, err
	}
	rows, err := h.conn.QueryContext(h.ctx(ctx), query, args...)
	return rows, h.after(err)
}

func (h handle) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	if err := h.before(ctx); err != nil {
		ended, cancel := context.WithCancelCause(ctx)
		cancel(err)
		ctx = ended // a *sql.Row can only be made by a query: this one fails at once
	}
	row := h.conn.QueryRowContext(h.ctx(ctx), query, args...)
	if err := row.Err(); err != nil {
		_ = h.after(err)
	}
	return row
}
