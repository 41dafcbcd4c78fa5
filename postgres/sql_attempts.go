package postgres

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/refrain-dev/refrain/record"
)

// retried runs transactions until one of them has an answer.
func (r *sqlRun) retried(ctx context.Context) (*record.Record, bool, error) {
	until := time.Now().Add(r.c.Policy.MaxExecution)
	for attempt := 1; ; {
		rec, fresh, err := r.attempt(ctx)
		switch {
		case errors.Is(err, errOnceMore):
			continue
		case !rerun(err):
			return rec, fresh, err
		}
		attempt++
		if attempt > maxAttempts || !pause(ctx, until, attempt) {
			return nil, false, &record.Error{Problem: record.NotExecuted, Row: "14", Err: errors.Join(context.Cause(ctx), err)}
		}
	}
}

// level is the isolation as database/sql names it.
func level(l pgx.TxIsoLevel) sql.IsolationLevel {
	switch l {
	case pgx.RepeatableRead:
		return sql.LevelRepeatableRead
	case pgx.Serializable:
		return sql.LevelSerializable
	}
	return sql.LevelReadCommitted
}
