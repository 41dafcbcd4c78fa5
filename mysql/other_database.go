package mysql

import (
	"context"
	"database/sql"
	"errors"
)

// ErrOtherDatabase means that ExecuteIn was given a transaction of another database
// than the engine's.
var ErrOtherDatabase = errors.New("mysql: the transaction belongs to another database")

// homeSQL tells a database by its store's id, and from a copy beside it by its
// name. The server is left out: nodes of one cluster, or a primary and its
// successor, are the same database on different ones.
const homeSQL = `CONCAT(CAST(IF(@@lower_case_table_names = 0, DATABASE(), LOWER(DATABASE())) AS BINARY), ' ', (SELECT HEX(id) FROM refrain_store LIMIT 1))`

// sameDatabase refuses a transaction of another database: its tables, of the same
// names, would take the record. The engine's own database is asked until it is
// known. While its pool has no connection to spare it is not: the caller may hold
// the only one.
func (j *joined) sameDatabase(ctx context.Context, here string) error {
	if known := j.db.home.Load(); known != nil && *known == here {
		return nil
	}
	if stats := j.db.pool.Stats(); stats.MaxOpenConnections > 0 && stats.InUse >= stats.MaxOpenConnections {
		return nil
	}
	var ours sql.NullString
	err := j.db.reading(ctx, func(ctx context.Context, q runner) error {
		return q.QueryRowContext(ctx, `SELECT `+homeSQL+` LIMIT 1`).Scan(&ours)
	})
	if err != nil {
		return err
	}
	if ours.String != here {
		return ErrOtherDatabase
	}
	j.db.home.Store(&here)
	return nil
}
