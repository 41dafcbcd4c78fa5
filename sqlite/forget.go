package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"github.com/refrain-dev/refrain/record"
)

// Forget removes final records whose memory has ended and raises the horizon of
// their operations in the same transaction, horizon first. Unfinished and
// disputed records are never touched.
func (db *DB) Forget(ctx context.Context, limit int) (forgotten int, err error) {
	err = db.writing(ctx, func(ctx context.Context, s *session) error {
		due, err := overdue(ctx, s.conn, db.opts.Now(), limit)
		if err != nil {
			return err
		}
		raised, err := horizons(ctx, s.run, due)
		if err != nil {
			return err
		}
		for operation, born := range raised {
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
		if db.parked != nil {
			db.parked()
		}
		return nil
	})
	return forgotten, err
}

type dueRow struct {
	n  int64
	id record.Identity
}

// overdue finds up to limit rows whose memory has ended. A row of a newer
// format, or one that is not where its identity belongs, is left for a person.
func overdue(ctx context.Context, conn *sql.Conn, now time.Time, limit int) ([]dueRow, error) {
	rows, err := conn.QueryContext(ctx, `SELECT n, hash, scope, operation, key FROM refrain_record
		WHERE remember_until <= ? AND state IN (?, ?) AND NOT disputed AND format <= ? ORDER BY n`,
		now.UnixMicro(), int(record.Confirmed), int(record.Rejected), record.Format)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var due []dueRow
	for len(due) < limit && rows.Next() {
		var d dueRow
		var hash, key []byte
		if err := rows.Scan(&d.n, &hash, &d.id.Scope, &d.id.Operation, &key); err != nil {
			return nil, err
		}
		d.id.Key = string(key)
		if want := d.id.Hash(); bytes.Equal(hash, want[:]) {
			due = append(due, d)
		}
	}
	return due, rows.Err()
}

// horizons is the latest birth per operation, read as the operation's contract
// reads it.
func horizons(ctx context.Context, q runner, due []dueRow) (map[string]time.Time, error) {
	latest := make(map[string]time.Time)
	keyTimes := make(map[string]record.KeyTime)
	for _, d := range due {
		kt, known := keyTimes[d.id.Operation]
		if !known {
			var err error
			if kt, err = keyTime(ctx, q, d.id.Operation); err != nil {
				return nil, err
			}
			keyTimes[d.id.Operation] = kt
		}
		if born, timed := kt.Birth(d.id.Key); timed && born.After(latest[d.id.Operation]) {
			latest[d.id.Operation] = born
		}
	}
	return latest, nil
}

// keyTime is the stored contract's. One that cannot be read is taken for ULID,
// which reads every timed key: a horizon too high is a review, one too low a
// second effect.
func keyTime(ctx context.Context, q runner, operation string) (record.KeyTime, error) {
	var contract struct {
		KeyTime string `json:"key_time"`
	}
	err := q.row(ctx, `SELECT contract FROM refrain_operation WHERE operation = ?`, func(r row) error {
		_ = json.Unmarshal(r.blob(0), &contract) // left empty: not a key time
		return nil
	}, operation)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	if kt, ok := record.ParseKeyTime(contract.KeyTime); ok {
		return kt, err
	}
	return record.ULID, err
}
