package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

// disputed stands behind the states in the query, and waiting for what needs
// somebody.
const (
	disputed = int64(record.Rejected) + 1
	waiting  = 0
)

var oldestText = `SELECT ` + bodilessText + ` FROM {schema}.record r
WHERE ($1::text = '' OR r.operation = $1::text)
 AND CASE WHEN r.disputed THEN $2::int8 WHEN r.state = $3::int8 AND coalesce(r.lease, 0) <= $4::int8 THEN $5::int8 ELSE r.state END
 = ANY (CASE WHEN $6::int8 = 0 THEN ARRAY[$7::int8, $3::int8, $5::int8, $2::int8] ELSE ARRAY[$6::int8] END)
ORDER BY r.ref LIMIT $8::int8`

// Oldest returns records as they stand at the store's time, which it returns,
// too: oldest first and without bodies. A submitted record whose lease is past
// is unknown, and a disputed one is of no other state.
func (s *Store) Oldest(ctx context.Context, q upkeep.Query) ([]record.Record, time.Time, error) {
	wanted := int64(waiting)
	if q.State == "disputed" {
		wanted = disputed
	} else if q.State != "" {
		state, ok := record.ParseState(q.State)
		if !ok {
			return nil, time.Time{}, fmt.Errorf("postgres: there is no state %q", q.State)
		}
		wanted = int64(state)
	}
	now, err := s.clock(ctx, s.read)
	if err != nil {
		return nil, now, err
	}
	recs, err := s.list(ctx, s.read, s.sql.text(oldestText), q.Operation, disputed,
		int64(record.Submitted), now.UnixMicro(), int64(record.Unknown), wanted, int64(record.Accepted), capped(q.Limit))
	if err != nil {
		return nil, now, migrated(err)
	}
	for i := range recs {
		recs[i] = upkeep.StandingAt(recs[i], now)
	}
	return recs, now, nil
}

// Standing returns the record with ref as it stands at the store's time, which
// it returns, too, or [record.ErrNotFound].
func (s *Store) Standing(ctx context.Context, ref string) (record.Record, time.Time, error) {
	rec, now, err := s.find(ctx, ref)
	return upkeep.StandingAt(rec, now), now, err
}

// Audits returns what was done to the record with ref, oldest first.
func (s *Store) Audits(ctx context.Context, ref string) ([]upkeep.Audit, error) {
	var all []upkeep.Audit
	err := each(ctx, s.read, func(r scanner) error {
		var a upkeep.Audit
		var at int64
		err := r.Scan(&at, &a.By, &a.Action, &a.Ref, &a.Reason, &a.Detail)
		a.At = time.UnixMicro(at).UTC()
		all = append(all, a)
		return err
	}, s.sql.text(`SELECT at, by, action, ref, reason, detail FROM {schema}.audit WHERE ref = $1::text ORDER BY id`), ref)
	if err != nil {
		return nil, migrated(err)
	}
	return all, nil
}
