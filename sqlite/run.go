package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/ncruces/go-sqlite3"
)

// runner runs the engine's own statements: straight on a connection of ours, or
// through database/sql on a foreign one.
type runner interface {
	// exec returns the number of rows changed.
	exec(ctx context.Context, query string, args ...any) (int64, error)
	// row calls read with the first row; sql.ErrNoRows when there is none.
	row(ctx context.Context, query string, read func(row) error, args ...any) error
	// rows calls read with each row, until it fails.
	rows(ctx context.Context, query string, read func(row) error, args ...any) error
}

// row is one result row. Values are copies; NULL is the zero value.
type row interface {
	null(i int) bool
	integer(i int) int64
	text(i int) string
	blob(i int) []byte
}

// statements is a connection of ours with its prepared statements. It is used
// by one goroutine at a time.
type statements struct {
	conn     *sqlite3.Conn
	prepared map[string]*sqlite3.Stmt
}

func (s *statements) prepare(query string) (*sqlite3.Stmt, error) {
	if st := s.prepared[query]; st != nil {
		return st, nil
	}
	st, _, err := s.conn.PrepareFlags(query, sqlite3.PREPARE_PERSISTENT)
	if err != nil {
		return nil, err
	}
	if s.prepared == nil {
		s.prepared = make(map[string]*sqlite3.Stmt)
	}
	s.prepared[query] = st
	return st, nil
}

func (s *statements) run(query string, read func(row) error, args []any) (changed int64, err error) {
	st, err := s.prepare(query)
	if err != nil {
		return 0, err
	}
	defer func() {
		err = errors.Join(err, st.Reset(), st.ClearBindings())
	}()
	if err := bind(st, args); err != nil {
		return 0, err
	}
	found := st.Step()
	if err := st.Err(); err != nil {
		return 0, err
	}
	switch {
	case read == nil:
		return s.conn.Changes(), nil
	case !found:
		return 0, sql.ErrNoRows
	}
	return 0, read(directRow{st})
}

func (s *statements) rows(query string, read func(row) error, args []any) (err error) {
	st, err := s.prepare(query)
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, st.Reset(), st.ClearBindings())
	}()
	if err := bind(st, args); err != nil {
		return err
	}
	for st.Step() {
		if err := read(directRow{st}); err != nil {
			return err
		}
	}
	return st.Err()
}

func bind(st *sqlite3.Stmt, args []any) error {
	for i, arg := range args {
		var err error
		switch v := arg.(type) {
		case nil:
			err = st.BindNull(i + 1)
		case string:
			err = st.BindText(i+1, v)
		case []byte:
			err = st.BindBlob(i+1, v)
		case int64:
			err = st.BindInt64(i+1, v)
		case int:
			err = st.BindInt(i+1, v)
		case bool:
			err = st.BindBool(i+1, v)
		default:
			err = fmt.Errorf("sqlite: no binding for %T", arg)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *statements) close() error {
	var errs []error
	for _, st := range s.prepared {
		errs = append(errs, st.Close())
	}
	s.prepared = nil
	return errors.Join(errs...)
}

type directRow struct{ st *sqlite3.Stmt }

func (r directRow) null(i int) bool     { return r.st.ColumnType(i) == sqlite3.NULL }
func (r directRow) integer(i int) int64 { return r.st.ColumnInt64(i) }
func (r directRow) text(i int) string   { return r.st.ColumnText(i) }
func (r directRow) blob(i int) []byte {
	if r.null(i) {
		return nil
	}
	return r.st.ColumnBlob(i, nil)
}

// foreign runs the engine's statements through database/sql: a connection, a
// transaction or a pool that is not ours.
type foreign struct {
	q interface {
		ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
		QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	}
}

func (f foreign) exec(ctx context.Context, query string, args ...any) (int64, error) {
	res, err := f.q.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

func (f foreign) row(ctx context.Context, query string, read func(row) error, args ...any) (err error) {
	rows, err := f.q.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	if !rows.Next() {
		if err := rows.Err(); err != nil {
			return err
		}
		return sql.ErrNoRows
	}
	r, err := scanAny(rows)
	if err != nil {
		return err
	}
	return read(r)
}

func (f foreign) rows(ctx context.Context, query string, read func(row) error, args ...any) (err error) {
	rows, err := f.q.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		r, err := scanAny(rows)
		if err != nil {
			return err
		}
		if err := read(r); err != nil {
			return err
		}
	}
	return rows.Err()
}

// anyRow is a row as database/sql gives it.
type anyRow []any

func scanAny(rows *sql.Rows) (anyRow, error) {
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	r := make(anyRow, len(columns))
	dest := make([]any, len(columns))
	for i := range r {
		dest[i] = &r[i]
	}
	return r, rows.Scan(dest...)
}

func (r anyRow) null(i int) bool { return r[i] == nil }

func (r anyRow) integer(i int) int64 {
	switch v := r[i].(type) {
	case int64:
		return v
	case bool:
		if v {
			return 1
		}
	}
	return 0
}

func (r anyRow) text(i int) string {
	switch v := r[i].(type) {
	case string:
		return v
	case []byte:
		return string(v)
	}
	return ""
}

func (r anyRow) blob(i int) []byte {
	switch v := r[i].(type) {
	case []byte:
		return v
	case string:
		return []byte(v)
	}
	return nil
}
