package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"io"
)

// innerStmt is what the driver's statements can do.
type innerStmt interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
	driver.NamedValueChecker
}

// stmt is a statement of one turn. Closing it returns it to the cache.
type stmt struct {
	g      *guard
	t      *turn
	key    cacheKey
	inner  innerStmt
	rows   *rows // unfinished result
	closed bool
}

// newStmt makes a statement of t; the guard's lock is held.
func (g *guard) newStmt(t *turn, key cacheKey, inner driver.Stmt) *stmt {
	s := &stmt{g: g, t: t, key: key, inner: inner.(innerStmt)}
	if t != nil {
		g.held[s] = true
	}
	return s
}

func (s *stmt) NumInput() int {
	s.g.mu.Lock()
	defer s.g.mu.Unlock()
	if s.closed {
		return -1
	}
	return s.inner.NumInput()
}

func (s *stmt) CheckNamedValue(v *driver.NamedValue) error { return s.inner.CheckNamedValue(v) }

func (s *stmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	s.g.mu.Lock()
	defer s.g.mu.Unlock()
	if err := s.admit(ctx); err != nil {
		return nil, err
	}
	res, err := s.inner.ExecContext(s.g.stop, args)
	return res, s.g.settle(s.t, err)
}

func (s *stmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	s.g.mu.Lock()
	defer s.g.mu.Unlock()
	if err := s.admit(ctx); err != nil {
		return nil, err
	}
	if s.rows != nil {
		_ = s.rows.finish()
	}
	in, err := s.inner.QueryContext(s.g.stop, args)
	if err = s.g.settle(s.t, err); err != nil {
		return nil, err
	}
	s.rows = &rows{s: s, ctx: ctx, inner: in}
	return s.rows, nil
}

// admit refuses a statement whose turn is over: it may be another member's
// turn, on the same connection, by now.
func (s *stmt) admit(ctx context.Context) error {
	if s.closed {
		return sql.ErrTxDone
	}
	return s.g.admit(ctx, s.t)
}

func (s *stmt) Close() error {
	s.g.mu.Lock()
	defer s.g.mu.Unlock()
	return s.close()
}

// close returns the statement to the cache. The guard's lock is held.
func (s *stmt) close() error {
	if s.closed {
		return nil
	}
	s.closed = true
	delete(s.g.held, s)
	if s.rows != nil {
		_ = s.rows.finish()
	}
	if s.g.cached >= maxCached {
		return s.inner.Close()
	}
	s.g.cache[s.key] = append(s.g.cache[s.key], s.inner)
	s.g.cached++
	return nil
}

// Exec and Query complete [driver.Stmt]; database/sql uses the context forms.
func (s *stmt) Exec([]driver.Value) (driver.Result, error) { return nil, driver.ErrSkip }
func (s *stmt) Query([]driver.Value) (driver.Rows, error)  { return nil, driver.ErrSkip }

// rows are the result of one statement of one turn.
type rows struct {
	s     *stmt
	ctx   context.Context
	inner driver.Rows
	ended bool // the last row was read
	done  bool
}

func (r *rows) Columns() []string {
	r.s.g.mu.Lock()
	defer r.s.g.mu.Unlock()
	if r.done {
		return nil
	}
	return r.inner.Columns()
}

func (r *rows) Next(dest []driver.Value) error {
	g := r.s.g
	g.mu.Lock()
	defer g.mu.Unlock()
	if r.done || r.s.t != g.turn {
		return sql.ErrTxDone
	}
	err := r.inner.Next(dest)
	if r.ended = err == io.EOF; err == nil || r.ended {
		return err
	}
	return g.settle(r.s.t, err)
}

func (r *rows) Close() error {
	r.s.g.mu.Lock()
	defer r.s.g.mu.Unlock()
	return r.finish()
}

// finish resets the statement once. Rows whose context ended look read to the
// end to a loop that does not ask for their error, so that is fatal, too. The
// guard's lock is held.
func (r *rows) finish() error {
	if r.done {
		return nil
	}
	r.done = true
	if err := r.ctx.Err(); err != nil && r.s.t != nil && !r.ended {
		_ = r.s.t.cut(err)
	}
	r.s.rows = nil
	return r.inner.Close()
}
