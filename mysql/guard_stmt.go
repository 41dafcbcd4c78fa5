package mysql

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

// stmt is a prepared statement of one turn.
type stmt struct {
	g      *guard
	t      *turn
	query  string
	inner  innerStmt
	closed bool
}

// admit refuses a statement whose turn is over: it may be another effect's turn,
// on the same connection, by now.
func (s *stmt) admit(ctx context.Context) error {
	if s.closed || s.t != s.g.turn {
		return sql.ErrTxDone
	}
	return s.t.admit(ctx)
}

func (s *stmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	if err := s.admit(ctx); err != nil {
		return nil, err
	}
	res, err := s.inner.ExecContext(ctx, args)
	return res, noted(s.t, s.query, res, err)
}

func (s *stmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	if err := s.admit(ctx); err != nil {
		return nil, err
	}
	in, err := s.inner.QueryContext(ctx, args)
	if err != nil {
		return nil, s.t.settle(err)
	}
	s.t.note(!reads(s.query))
	return s.g.watch(s.t, in), nil
}

func (s *stmt) Close() error {
	if s.closed {
		return nil
	}
	s.closed = true
	delete(s.g.stmts, s)
	return s.inner.Close()
}

// NumInput is asked of a closed statement, too.
func (s *stmt) NumInput() int {
	if s.closed {
		return -1
	}
	return s.inner.NumInput()
}

func (s *stmt) CheckNamedValue(v *driver.NamedValue) error { return s.inner.CheckNamedValue(v) }

// Exec and Query complete [driver.Stmt]; database/sql uses the context forms.
func (s *stmt) Exec([]driver.Value) (driver.Result, error) { return nil, driver.ErrSkip }
func (s *stmt) Query([]driver.Value) (driver.Rows, error)  { return nil, driver.ErrSkip }

// innerRows is what the driver's results can do.
type innerRows interface {
	driver.RowsNextResultSet
	driver.RowsColumnTypeDatabaseTypeName
	driver.RowsColumnTypeNullable
	driver.RowsColumnTypePrecisionScale
	driver.RowsColumnTypeScanType
}

// rows are the result of one statement of one turn.
type rows struct {
	innerRows
	g      *guard
	t      *turn
	closed bool
}

func (g *guard) watch(t *turn, in driver.Rows) *rows {
	r := &rows{innerRows: in.(innerRows), g: g, t: t}
	if g.rows == nil {
		g.rows = make(map[*rows]bool)
	}
	g.rows[r] = true
	return r
}

func (r *rows) Next(dest []driver.Value) error {
	if r.closed || r.t != r.g.turn {
		return sql.ErrTxDone
	}
	err := r.innerRows.Next(dest)
	if err == nil || err == io.EOF {
		return err
	}
	return r.t.settle(err)
}

func (r *rows) HasNextResultSet() bool { return !r.closed && r.innerRows.HasNextResultSet() }

func (r *rows) NextResultSet() error {
	if r.closed || r.t != r.g.turn {
		return sql.ErrTxDone
	}
	err := r.innerRows.NextResultSet()
	if err == nil || err == io.EOF {
		return err
	}
	return r.t.settle(err)
}

// Close reads what is left. A failure there is the statement's: rows cut short
// look read to the end to a loop that does not ask for their error.
func (r *rows) Close() error {
	if r.closed {
		return nil
	}
	r.closed = true
	delete(r.g.rows, r)
	return r.t.settle(r.innerRows.Close())
}
