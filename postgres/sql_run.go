package postgres

import (
	"context"
	"database/sql"
)

// querier is what *sql.DB, *sql.Tx, *sql.Conn and an application's own handles
// have in common.
type querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// through runs the engine's statements through database/sql.
type through struct{ q querier }

var _ runner = through{}

func (t through) exec(ctx context.Context, query string, args ...any) (int64, error) {
	res, err := t.q.ExecContext(ctx, query, nulls(args)...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// row reads the whole answer: an error may come after the first row, and a
// connection that is still being read takes no other statement.
func (t through) row(ctx context.Context, query string, args ...any) scanner {
	rows, err := t.q.QueryContext(ctx, query, nulls(args)...)
	return firstRow{rows, err}
}

func (t through) rows(ctx context.Context, query string, args ...any) (rows, error) {
	all, err := t.q.QueryContext(ctx, query, nulls(args)...)
	if err != nil {
		return nil, err
	}
	return everyRow{all}, nil
}

// nulls makes nil slices and pointers NULL: drivers differ over them.
func nulls(args []any) []any {
	for i, arg := range args {
		switch v := arg.(type) {
		case []byte:
			if v == nil {
				args[i] = nil
			}
		case *string:
			args[i] = deref(v)
		case *int64:
			args[i] = deref(v)
		case *bool:
			args[i] = deref(v)
		case *[]byte:
			args[i] = nil
			if v != nil && *v != nil {
				args[i] = *v
			}
		}
	}
	return args
}

func deref[T any](p *T) any {
	if p == nil {
		return nil
	}
	return *p
}

type firstRow struct {
	rows *sql.Rows
	err  error
}

func (r firstRow) Scan(dest ...any) error {
	if r.err != nil {
		return r.err
	}
	defer r.rows.Close()
	if !r.rows.Next() {
		if err := r.rows.Err(); err != nil {
			return err
		}
		return sql.ErrNoRows
	}
	if err := r.rows.Scan(dest...); err != nil {
		return err
	}
	for r.rows.Next() {
	}
	return r.rows.Err()
}

type everyRow struct{ *sql.Rows }

func (r everyRow) Close() { _ = r.Rows.Close() }
