package sqlite

import (
	"context"
	"fmt"
	"slices"
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
const disputed = int(record.Rejected) + 1

// Oldest returns records as they stand at the store's time, which it returns,
// too: oldest first and without bodies. A submitted record whose lease is past
// is unknown, and a disputed one is of no other state.
func (db *DB) Oldest(ctx context.Context, q Query) (recs []record.Record, now time.Time, err error) {
	wanted := 0
	if q.State == "disputed" {
		wanted = disputed
	} else if q.State != "" {
		state, ok := record.ParseState(q.State)
		if !ok {
			return nil, now, fmt.Errorf("sqlite: there is no state %q", q.State)
		}
		wanted = int(state)
	}
	if q.Limit <= 0 {
		q.Limit = 100
	}
	now = db.opts.Now()
	rows, err := db.readers.QueryContext(ctx, `SELECT `+columns+` FROM refrain_record r
		WHERE (?1 = '' OR r.operation = ?1) AND CASE WHEN disputed THEN ?2 WHEN state = ?3 AND coalesce(lease, 0) <= ?4 THEN ?5 ELSE state END
			IN (SELECT value FROM json_each(?6)) ORDER BY r.ref LIMIT ?7`,
		q.Operation, disputed, int(record.Submitted), now.UnixMicro(), int(record.Unknown), wantedStates(wanted), min(q.Limit, 1000))
	if err != nil {
		return nil, now, migrated(err)
	}
	defer rows.Close()
	for rows.Next() {
		r, err := scanAny(rows)
		if err != nil {
			return nil, now, err
		}
		rec, err := decode(r, 0, false)
		if err != nil {
			return nil, now, fmt.Errorf("sqlite: record %s: %w", rec.Ref, err)
		}
		recs = append(recs, upkeep.StandingAt(rec, now))
	}
	// Refs of one millisecond are in no order.
	slices.SortStableFunc(recs, func(a, b record.Record) int { return a.Created.Compare(b.Created) })
	return recs, now, rows.Err()
}

func wantedStates(wanted int) string {
	if wanted != 0 {
		return fmt.Sprintf("[%d]", wanted)
	}
	return fmt.Sprintf("[%d,%d,%d,%d]", record.Accepted, record.Submitted, record.Unknown, disputed)
}

// Standing returns the record with ref as it stands at the store's time, which
// it returns, too, or [record.ErrNotFound].
func (db *DB) Standing(ctx context.Context, ref string) (record.Record, time.Time, error) {
	rec, err := db.Find(ctx, ref)
	now := db.opts.Now()
	return upkeep.StandingAt(rec, now), now, err
}

// Audits returns what was done to the record with ref, oldest first.
func (db *DB) Audits(ctx context.Context, ref string) ([]Audit, error) {
	rows, err := db.readers.QueryContext(ctx, `SELECT at, by, action, ref, reason, detail FROM refrain_audit WHERE ref = ? ORDER BY id`, ref)
	if err != nil {
		return nil, migrated(err)
	}
	defer rows.Close()
	var all []Audit
	for rows.Next() {
		var a Audit
		var at int64
		if err := rows.Scan(&at, &a.By, &a.Action, &a.Ref, &a.Reason, &a.Detail); err != nil {
			return nil, err
		}
		a.At = time.UnixMicro(at).UTC()
		all = append(all, a)
	}
	return all, rows.Err()
}
