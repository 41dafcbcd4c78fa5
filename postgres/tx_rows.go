package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

func (h *handle) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	if err := h.t.enter(sql); err != nil {
		return refusedRows{err}, err
	}
	defer h.t.leave()
	inner, err := h.inner.Query(h.t.bound(ctx), sql, args...)
	if err != nil {
		h.t.sent(ctx, pgconn.CommandTag{}, err)
		return inner, err
	}
	r := &watchedRows{Rows: inner, ctx: ctx, t: h.t}
	h.t.opened(func() error {
		inner.Close()
		return inner.Err()
	})
	return r, nil
}

func (h *handle) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	rows, _ := h.Query(ctx, sql, args...)
	return watchedRow{rows}
}

// watchedRows tell the turn how they ended.
type watchedRows struct {
	pgx.Rows
	ctx  context.Context // of the query
	t    *turn
	told bool
}

func (r *watchedRows) Next() bool {
	if r.told {
		return false
	}
	r.t.busy.Lock()
	defer r.t.busy.Unlock()
	if r.Rows.Next() {
		return true
	}
	r.tell()
	return false
}

func (r *watchedRows) Close() {
	if r.told {
		return
	}
	r.t.busy.Lock()
	defer r.t.busy.Unlock()
	r.Rows.Close()
	r.tell()
}

func (r *watchedRows) tell() {
	if !r.told {
		r.told = true
		r.t.saw(r.ctx, r.Rows.CommandTag(), r.Rows.Err())
	}
}

type watchedRow struct{ rows pgx.Rows }

func (r watchedRow) Scan(dest ...any) error {
	defer r.rows.Close()
	if !r.rows.Next() {
		if err := r.rows.Err(); err != nil {
			return err
		}
		return pgx.ErrNoRows
	}
	if err := r.rows.Scan(dest...); err != nil {
		return err
	}
	r.rows.Close()
	return r.rows.Err()
}

// refusedRows are the rows of a query that was not sent.
type refusedRows struct{ err error }

func (r refusedRows) Close()                                       {}
func (r refusedRows) Err() error                                   { return r.err }
func (r refusedRows) CommandTag() pgconn.CommandTag                { return pgconn.CommandTag{} }
func (r refusedRows) FieldDescriptions() []pgconn.FieldDescription { return nil }
func (r refusedRows) Next() bool                                   { return false }
func (r refusedRows) Scan(...any) error                            { return r.err }
func (r refusedRows) Values() ([]any, error)                       { return nil, r.err }
func (r refusedRows) RawValues() [][]byte                          { return nil }
func (r refusedRows) Conn() *pgx.Conn                              { return nil }
func (r refusedRows) TypeMap() *pgtype.Map                         { return nil }
