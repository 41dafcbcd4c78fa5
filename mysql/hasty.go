package mysql

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
)

// hasty runs statements that wait for no lock, where the server can say so for
// one statement.
type hasty struct {
	runner
	maria bool
}

func (h hasty) text(query string) string {
	if h.maria {
		return `SET STATEMENT innodb_lock_wait_timeout = 0 FOR ` + query
	}
	return query
}

func (h hasty) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return h.runner.ExecContext(ctx, h.text(query), args...)
}

func (h hasty) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return h.runner.QueryContext(ctx, h.text(query), args...)
}

func (h hasty) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	return h.runner.QueryRowContext(ctx, h.text(query), args...)
}

// leastPatience is the shortest a session can wait for a lock, in seconds.
const leastPatience = 1

// hurried runs work with the least patience, where the server cannot say it for
// one statement, and gives the session its own back.
func (j *joined) hurried(ctx context.Context, work func() error) error {
	if j.maria || j.patience <= leastPatience {
		return work()
	}
	if err := j.waits(ctx, leastPatience); err != nil {
		return err
	}
	err := work()
	return errors.Join(err, j.waits(context.WithoutCancel(ctx), j.patience))
}

func (j *joined) waits(ctx context.Context, seconds int64) error {
	return j.exec(ctx, `SET SESSION innodb_lock_wait_timeout = `+strconv.FormatInt(seconds, 10))
}
