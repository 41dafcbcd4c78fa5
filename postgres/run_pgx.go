package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// pgxQuerier is what *pgx.Conn and pgx.Tx have in common.
type pgxQuerier interface {
	Exec(ctx context.Context, sql string, arguments ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// direct runs the engine's statements on one connection of pgx.
type direct struct{ q pgxQuerier }

var _ runner = direct{}

func (d direct) exec(ctx context.Context, query string, args ...any) (int64, error) {
	tag, err := d.q.Exec(ctx, query, args...)
	return tag.RowsAffected(), err
}

func (d direct) row(ctx context.Context, query string, args ...any) scanner {
	return d.q.QueryRow(ctx, query, args...)
}

func (d direct) rows(ctx context.Context, query string, args ...any) (rows, error) {
	return d.q.Query(ctx, query, args...)
}

// pooled runs each statement on a connection borrowed for it. All of them may be
// repeated: they read.
type pooled struct{ db *DB }

var _ runner = pooled{}

// staleTries is how many connections may be found dead, as all idle ones are after
// a restart of the server.
const staleTries = 5

// with runs work on a connection, which work gives back when it succeeds. It runs
// again on another one if the connection turns out to be dead.
func (p pooled) with(ctx context.Context, work func(c *lent) error) error {
	leave, err := p.db.tasks.enter()
	if err != nil {
		return err
	}
	for try := 1; ; try++ {
		conn, err := p.db.acquire(ctx)
		if err != nil {
			leave()
			return err
		}
		err = work(&lent{conn.Conn(), func() { conn.Release(); leave() }})
		if err == nil {
			return nil
		}
		dead := conn.Conn().IsClosed()
		conn.Release()
		if !dead || try == staleTries || ctx.Err() != nil {
			leave()
			return err
		}
	}
}

// lent is a borrowed connection; done gives it back.
type lent struct {
	*pgx.Conn
	done func()
}

func (p pooled) exec(ctx context.Context, query string, args ...any) (n int64, err error) {
	err = p.with(ctx, func(c *lent) error {
		tag, err := c.Exec(ctx, query, args...)
		if err == nil {
			n = tag.RowsAffected()
			c.done()
		}
		return err
	})
	return n, err
}

func (p pooled) row(ctx context.Context, query string, args ...any) scanner {
	return pooledRow{p, ctx, query, args}
}

type pooledRow struct {
	p     pooled
	ctx   context.Context
	query string
	args  []any
}

func (r pooledRow) Scan(dest ...any) error {
	return r.p.with(r.ctx, func(c *lent) error {
		err := c.QueryRow(r.ctx, r.query, r.args...).Scan(dest...)
		if err == nil {
			c.done()
		}
		return err
	})
}

func (p pooled) rows(ctx context.Context, query string, args ...any) (all rows, err error) {
	err = p.with(ctx, func(c *lent) error {
		rows, err := c.Query(ctx, query, args...)
		if err == nil {
			all = &pooledRows{Rows: rows, done: c.done}
		}
		return err
	})
	return all, err
}

// pooledRows gives its connection back when it is closed.
type pooledRows struct {
	pgx.Rows
	done func()
}

func (r *pooledRows) Close() {
	r.Rows.Close()
	if r.done != nil {
		r.done()
		r.done = nil
	}
}
