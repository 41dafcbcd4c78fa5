package refraintest

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"

	"github.com/refrain-dev/refrain"
)

// watchSQL returns a handle whose statements go to tx, after r was asked. The
// handle is a connection of database/sql over a driver of ours that has tx for
// its database: so prepared statements and the reading of rows are seen, too,
// and a *sql.Row can fail.
//
// What tx alone could give and the driver's interface cannot is lost: several
// result sets of one query.
func watchSQL(tx refrain.SQLTx, r *run) *sql.Conn {
	db := sql.OpenDB(connector{tx, r})
	conn, err := db.Conn(context.Background())
	if err != nil {
		panic(err) // nothing in it can fail
	}
	_ = db.Close() // ends its goroutine; a connection that is out stays usable
	return conn
}

type connector struct {
	tx refrain.SQLTx
	r  *run
}

func (c connector) Connect(context.Context) (driver.Conn, error) { return watchedConn(c), nil }
func (c connector) Driver() driver.Driver                        { return c }
func (c connector) Open(string) (driver.Conn, error)             { return watchedConn(c), nil }

type watchedConn connector

var (
	_ driver.ExecerContext      = watchedConn{}
	_ driver.QueryerContext     = watchedConn{}
	_ driver.ConnPrepareContext = watchedConn{}
	_ driver.NamedValueChecker  = watchedConn{}
)

var errUnused = errors.New("refraintest: not part of refrain.SQLTx")

func (c watchedConn) Prepare(string) (driver.Stmt, error) { return nil, errUnused }
func (c watchedConn) Begin() (driver.Tx, error)           { return nil, refrain.ErrOwned }
func (c watchedConn) Close() error                        { return nil }

// CheckNamedValue leaves arguments as they are to the real driver.
func (c watchedConn) CheckNamedValue(*driver.NamedValue) error { return nil }

func (c watchedConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if err := c.r.before(ctx, query); err != nil {
		return nil, err
	}
	return c.tx.ExecContext(ctx, query, values(args)...)
}

func (c watchedConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if err := c.r.before(ctx, query); err != nil {
		return nil, err
	}
	rows, err := c.tx.QueryContext(ctx, query, values(args)...)
	return watchRows(ctx, c.r, query, rows, err)
}

func (c watchedConn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	if err := c.r.before(ctx, "prepare "+query); err != nil {
		return nil, err
	}
	stmt, err := c.tx.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	return &watchedStmt{c.r, query, stmt}, nil
}

// watchedStmt is a prepared statement.
type watchedStmt struct {
	r     *run
	query string
	inner *sql.Stmt
}

var (
	_ driver.StmtExecContext  = (*watchedStmt)(nil)
	_ driver.StmtQueryContext = (*watchedStmt)(nil)
)

func (s *watchedStmt) NumInput() int                              { return -1 }
func (s *watchedStmt) Close() error                               { return s.inner.Close() }
func (s *watchedStmt) Exec([]driver.Value) (driver.Result, error) { return nil, errUnused }
func (s *watchedStmt) Query([]driver.Value) (driver.Rows, error)  { return nil, errUnused }

func (s *watchedStmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	if err := s.r.before(ctx, s.query); err != nil {
		return nil, err
	}
	return s.inner.ExecContext(ctx, values(args)...)
}

func (s *watchedStmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	if err := s.r.before(ctx, s.query); err != nil {
		return nil, err
	}
	rows, err := s.inner.QueryContext(ctx, values(args)...)
	return watchRows(ctx, s.r, s.query, rows, err)
}

// values gives arguments back the form a caller of database/sql passes.
func values(args []driver.NamedValue) []any {
	passed := make([]any, len(args))
	for i, arg := range args {
		passed[i] = arg.Value
		if arg.Name != "" {
			passed[i] = sql.Named(arg.Name, arg.Value)
		}
	}
	return passed
}
