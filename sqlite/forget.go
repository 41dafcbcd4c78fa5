package sqlite

import (
	"context"
	"database/sql"
	"time"

	"github.com/refrain-dev/refrain/record"
)

// reviewsPerScope caps what late retries of one scope may store.
const reviewsPerScope = 1000

// parked is called between the delete and the commit of Forget; tests set it.
var parked func()

// Forget removes final records whose memory has ended and raises the horizon of
// their operations in the same transaction, horizon first. Unfinished and
// disputed records are never touched.
func (db *DB) Forget(ctx context.Context, limit int) (forgotten int, err error) {
	err = db.writing(ctx, func(ctx context.Context, s *session) error {
		due, err := overdue(ctx, s.conn, db.opts.Now(), limit)
		if err != nil {
			return err
		}
		for operation, born := range horizons(due) {
			_, err := s.run.exec(ctx, `UPDATE refrain_operation SET horizon = max(coalesce(horizon, ?1), ?1) WHERE operation = ?2`,
				born.UnixMicro(), operation)
			if err != nil {
				return err
			}
		}
		for _, d := range due {
			if _, err := s.run.exec(ctx, `DELETE FROM refrain_record WHERE n = ?`, d.n); err != nil {
				return err
			}
		}
		forgotten = len(due)
		if parked != nil {
			parked()
		}
		return nil
	})
	return forgotten, err
}

type dueRow struct {
	n              int64
	operation, key string
}

func overdue(ctx context.Context, conn *sql.Conn, now time.Time, limit int) ([]dueRow, error) {
	rows, err := conn.QueryContext(ctx, `SELECT n, operation, key FROM refrain_record
		WHERE remember_until <= ? AND state IN (?, ?) AND NOT disputed ORDER BY n LIMIT ?`,
		now.UnixMicro(), int(record.Confirmed), int(record.Rejected), limit)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var due []dueRow
	for rows.Next() {
		var d dueRow
		var key []byte
		if err := rows.Scan(&d.n, &d.operation, &key); err != nil {
			return nil, err
		}
		d.key = string(key)
		due = append(due, d)
	}
	return due, rows.Err()
}

// horizons is the latest birth per operation. It reads every shape of timed
// key, whatever the contract says today: a horizon too high is a review, one
// too low a second effect.
func horizons(due []dueRow) map[string]time.Time {
	latest := make(map[string]time.Time)
	for _, d := range due {
		if born, timed := record.ULID.Birth(d.key); timed && born.After(latest[d.operation]) {
			latest[d.operation] = born
		}
	}
	return latest
}

// late stores a refused late retry for review: one row per identity, counted,
// capped per scope.
func (db *DB) late(ctx context.Context, c *record.Claim, now time.Time) error {
	return db.writing(ctx, func(ctx context.Context, s *session) error {
		id, print := c.Identity, c.Request.Print
		_, err := s.run.exec(ctx, `INSERT INTO refrain_review
			(hash, scope, operation, key, raw, deciding, rule, schema, first, last, count)
			SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?9, 1
			WHERE (SELECT count(*) FROM refrain_review WHERE scope = ?2) < ?10 OR EXISTS (SELECT 1 FROM refrain_review WHERE hash = ?1)
			ON CONFLICT (hash) DO UPDATE SET last = excluded.last, count = count + 1`,
			c.Hash[:], id.Scope, id.Operation, []byte(id.Key), print.Raw[:], print.Deciding[:], print.Rule, print.Schema,
			now.UnixMicro(), reviewsPerScope)
		return err
	})
}
