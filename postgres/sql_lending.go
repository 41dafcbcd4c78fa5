package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
)

// connect takes a connection of the handle's. Without one nothing was tried.
func (db *SQL) connect(ctx context.Context) (*sql.Conn, error) {
	waiting, cancel := db.opts.soon(ctx)
	defer cancel()
	conn, err := db.handle.Conn(waiting)
	if err != nil {
		return nil, fmt.Errorf("postgres: no connection: %w", err)
	}
	return conn, nil
}

// discard closes a connection that is in no known state instead of giving it back.
func discard(conn *sql.Conn) {
	_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	_ = conn.Close()
}

// lending runs each statement on a connection borrowed for it, which it waits for
// no longer than Options.Busy. All of them may be repeated: they read.
type lending struct{ db *SQL }

var _ runner = lending{}

// with runs work on a connection. It runs again on another one if the connection
// turns out to be dead, as all idle ones are after a restart of the server. done
// is to be called when work has succeeded.
func (l lending) with(ctx context.Context, work func(t through, done func()) error) error {
	leave, err := l.db.tasks.enter()
	if err != nil {
		return err
	}
	for try := 1; ; try++ {
		conn, err := l.db.connect(ctx)
		if err != nil {
			leave()
			return err
		}
		err = work(through{conn}, func() { _ = conn.Close(); leave() })
		if err == nil {
			return nil
		}
		if disconnected(err) {
			discard(conn)
		} else {
			_ = conn.Close()
		}
		if try == staleTries || !disconnected(err) || ctx.Err() != nil {
			leave()
			return err
		}
	}
}

func (l lending) exec(ctx context.Context, query string, args ...any) (n int64, err error) {
	err = l.with(ctx, func(t through, done func()) error {
		var err error
		if n, err = t.exec(ctx, query, args...); err == nil {
			done()
		}
		return err
	})
	return n, err
}

func (l lending) row(ctx context.Context, query string, args ...any) scanner {
	return lentRow{l, ctx, query, args}
}

type lentRow struct {
	l     lending
	ctx   context.Context
	query string
	args  []any
}

func (r lentRow) Scan(dest ...any) error {
	return r.l.with(r.ctx, func(t through, done func()) error {
		err := t.row(r.ctx, r.query, r.args...).Scan(dest...)
		if err == nil {
			done()
		}
		return err
	})
}

func (l lending) rows(ctx context.Context, query string, args ...any) (all rows, err error) {
	err = l.with(ctx, func(t through, done func()) error {
		read, err := t.rows(ctx, query, args...)
		if err == nil {
			all = &lentRows{read, done}
		}
		return err
	})
	return all, err
}

// lentRows give their connection back when they are closed.
type lentRows struct {
	rows
	done func()
}

func (r *lentRows) Close() {
	if r.done != nil {
		r.rows.Close()
		r.done()
		r.done = nil
	}
}
