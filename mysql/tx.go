package mysql

import (
	"context"
	"database/sql"
)

// handle is the [Tx] an effect gets. On a connection of ours the guard checks
// every statement; on a foreign one the handle does what can be done from
// outside.
type handle struct {
	conn    Tx
	turn    *turn
	guarded bool
}

func (h handle) PrepareContext(ctx context.Context, query string) (*sql.Stmt, error) {
	ctx = h.ctx(ctx)
	if err := h.before(ctx, query); err != nil {
		return nil, err
	}
	stmt, err := h.conn.PrepareContext(ctx, query)
	h.turn.note(!h.guarded && !reads(query)) // what it will do nobody sees
	return stmt, h.after(err)
}

func (h handle) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	ctx = h.ctx(ctx)
	if err := h.before(ctx, query); err != nil {
		return nil, err
	}
	res, err := h.conn.ExecContext(ctx, query, args...)
	if err == nil && !h.guarded {
		n, unknown := res.RowsAffected()
		h.turn.note(n != 0 || unknown != nil || calls(query))
	}
	return res, h.after(err)
}

func (h handle) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	ctx = h.ctx(ctx)
	if err := h.before(ctx, query); err != nil {
		return nil, err
	}
	rows, err := h.conn.QueryContext(ctx, query, args...)
	h.turn.note(!h.guarded && !reads(query))
	return rows, h.after(err)
}

func (h handle) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	ctx = h.ctx(ctx)
	if err := h.before(ctx, query); err != nil {
		ended, cancel := context.WithCancelCause(ctx)
		cancel(err)
		ctx = ended // a *sql.Row can only be made by a query: this one fails at once
	}
	row := h.conn.QueryRowContext(ctx, query, args...)
	h.turn.note(!h.guarded && !reads(query))
	_ = h.after(row.Err())
	return row
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
	return context.WithValue(ctx, turnKey{}, h.turn)
}

func (h handle) before(ctx context.Context, query string) error {
	if h.guarded {
		return nil
	}
	if err := h.turn.admit(ctx); err != nil {
		return err
	}
	if err := allowed(query, false); err != nil {
		return h.turn.spoil(err)
	}
	return nil
}

func (h handle) after(err error) error {
	if h.guarded {
		return err
	}
	return h.turn.settle(err)
}
