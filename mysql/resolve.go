package mysql

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

// What an operator asks for and finds.
type (
	Query = upkeep.Query
	Audit = upkeep.Audit
)

// disputed stands behind the states in the query.
const disputed = int64(record.Rejected) + 1

// Oldest returns records as they stand at the store's time, which it returns,
// too: oldest first and without bodies. A submitted record whose lease is past
// is unknown, and a disputed one is of no other state.
func (db *DB) Oldest(ctx context.Context, q Query) (recs []record.Record, now time.Time, err error) {
	wanted := []any{int64(record.Accepted), int64(record.Submitted), int64(record.Unknown), disputed}
	if q.State == "disputed" {
		wanted = []any{disputed}
	} else if q.State != "" {
		state, ok := record.ParseState(q.State)
		if !ok {
			return nil, now, fmt.Errorf("mysql: there is no state %q", q.State)
		}
		wanted = []any{int64(state)}
	}
	if now, err = db.stands(ctx); err != nil {
		return nil, now, migrated(err)
	}
	where := []string{`CASE WHEN r.disputed THEN ? WHEN r.state = ? AND coalesce(r.lease, 0) <= ? THEN ? ELSE r.state END
		IN (?` + strings.Repeat(`, ?`, len(wanted)-1) + `)`}
	args := append([]any{disputed, int64(record.Submitted), now.UnixMicro(), int64(record.Unknown)}, wanted...)
	if q.Operation != "" {
		where, args = append(where, `r.operation = ?`), append(args, []byte(q.Operation))
	}
	recs, err = db.records(ctx, where, `ASC`, q.Limit, args...)
	for i := range recs {
		recs[i] = upkeep.StandingAt(recs[i], now)
	}
	return recs, now, err
}

// Standing returns the record with ref as it stands at the store's time, which
// it returns, too, or [record.ErrNotFound].
func (db *DB) Standing(ctx context.Context, ref string) (record.Record, time.Time, error) {
	rec, err := db.Find(ctx, ref)
	if err != nil {
		return rec, time.Time{}, err
	}
	now, err := db.stands(ctx)
	return upkeep.StandingAt(rec, now), now, err
}

// Audits returns what was done to the record with ref, oldest first.
func (db *DB) Audits(ctx context.Context, ref string) ([]Audit, error) {
	var all []Audit
	err := db.reading(ctx, func(ctx context.Context, q runner) error {
		rows, err := q.QueryContext(ctx, "SELECT at, `by`, action, ref, reason, detail FROM refrain_audit WHERE ref = ? ORDER BY id"+every, []byte(ref))
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var a Audit
			var at int64
			if err := rows.Scan(&at, &a.By, &a.Action, &a.Ref, &a.Reason, &a.Detail); err != nil {
				return err
			}
			a.At = time.UnixMicro(at).UTC()
			all = append(all, a)
		}
		return rows.Err()
	})
	return all, err
}

const auditSQL = "INSERT INTO refrain_audit (at, `by`, action, ref, reason, detail) VALUES (?, ?, ?, ?, ?, ?)"

func auditArgs(a Audit) []any {
	return []any{a.At.UnixMicro(), []byte(a.By), []byte(a.Action), []byte(a.Ref), []byte(a.Reason), []byte(a.Detail)}
}

// audit writes one line of what an operator did.
func audit(ctx context.Context, q runner, a Audit) error {
	_, err := q.ExecContext(ctx, auditSQL, auditArgs(a)...)
	return err
}
