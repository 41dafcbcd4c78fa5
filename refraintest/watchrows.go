package refraintest

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"io"
	"reflect"
)

// watchedRows is the result of one query. Reading its first row is a step of
// its own: it can fail where the query did not.
type watchedRows struct {
	r     *run
	ctx   context.Context
	query string
	inner *sql.Rows
	names []string
	types []*sql.ColumnType
	read  bool
}

var (
	_ driver.RowsColumnTypeScanType         = (*watchedRows)(nil)
	_ driver.RowsColumnTypeDatabaseTypeName = (*watchedRows)(nil)
	_ driver.RowsColumnTypeLength           = (*watchedRows)(nil)
	_ driver.RowsColumnTypeNullable         = (*watchedRows)(nil)
	_ driver.RowsColumnTypePrecisionScale   = (*watchedRows)(nil)
)

func watchRows(ctx context.Context, r *run, query string, inner *sql.Rows, err error) (driver.Rows, error) {
	if err != nil {
		return nil, err
	}
	names, err := inner.Columns()
	if err != nil {
		_ = inner.Close()
		return nil, err
	}
	rows := &watchedRows{r: r, ctx: ctx, query: query, inner: inner, names: names}
	if rows.types, err = inner.ColumnTypes(); err != nil {
		_ = inner.Close()
		return nil, err
	}
	r.opened(rows, query)
	return rows, nil
}

func (rows *watchedRows) Columns() []string { return rows.names }

func (rows *watchedRows) Close() error {
	rows.r.closed(rows)
	return rows.inner.Close()
}

func (rows *watchedRows) Next(dest []driver.Value) error {
	if !rows.read {
		rows.read = true
		if err := rows.r.before(rows.ctx, "read "+rows.query); err != nil {
			return err
		}
	}
	if !rows.inner.Next() {
		if err := rows.inner.Err(); err != nil {
			return err
		}
		return io.EOF
	}
	into := make([]any, len(dest))
	for i := range dest {
		into[i] = (*any)(&dest[i])
	}
	return rows.inner.Scan(into...)
}

func (rows *watchedRows) ColumnTypeScanType(i int) reflect.Type { return rows.types[i].ScanType() }
func (rows *watchedRows) ColumnTypeDatabaseTypeName(i int) string {
	return rows.types[i].DatabaseTypeName()
}
func (rows *watchedRows) ColumnTypeLength(i int) (int64, bool) { return rows.types[i].Length() }
func (rows *watchedRows) ColumnTypeNullable(i int) (nullable, ok bool) {
	return rows.types[i].Nullable()
}

func (rows *watchedRows) ColumnTypePrecisionScale(i int) (precision, scale int64, ok bool) {
	return rows.types[i].DecimalSize()
}
