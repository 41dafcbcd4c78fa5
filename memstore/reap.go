package memstore

import (
	"context"
	"fmt"

	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

// Reap implements [upkeep.Retention], as one transaction: nobody else writes
// meanwhile.
func (db *DB) Reap(ctx context.Context, r upkeep.Reap) (upkeep.Reaped, error) {
	var done upkeep.Reaped
	err := db.within(ctx, func(t *transaction) error {
		now := db.options.Now()
		r = r.Bounded(now)
		done.Now = record.Micro(now)
		v := t.view(r, now)
		if v == nil {
			return nil
		}
		if v.old != nil && v.due {
			done.Lag = now.Sub(v.old.Due)
		}
		rows := t.rows(v.refs)
		p := upkeep.PlanReap(rows, r.Until)
		done.Looked, done.Trimmed, done.Forgotten, done.Unfinished = len(rows), len(p.Trim), len(p.Forget), p.Unfinished
		if err := t.archive(ctx, r, p.Forget); err != nil {
			return err
		}
		t.forget(p.Forget)
		t.trim(p.Trim)
		t.leave(v, p.Next, now)
		done.More = t.view(r, now) != nil
		if db.options.Forgetting != nil {
			db.options.Forgetting()
		}
		return ctx.Err()
	})
	if err != nil {
		return upkeep.Reaped{}, err
	}
	return done, nil
}

// rows are the records as a reaper sees them. One that cannot be read is left for
// a person.
func (t *transaction) rows(refs []string) []upkeep.Row {
	open := make(map[string]bool)
	for _, e := range t.db.externals.all(true) {
		if c := e.columns; !c.State.Final() || c.Disputed {
			open[c.Action] = true
		}
	}
	rows := make([]upkeep.Row, len(refs))
	for i, ref := range refs {
		id, _ := t.db.refs.get(ref, true)
		row, _ := t.db.records.get(id, true)
		rows[i] = upkeep.RowOf(*row.rec)
		rows[i].Identity = id
		rows[i].Settled = rows[i].Settled && sound(id, row.rec) == nil && !open[ref]
	}
	return rows
}

func (t *transaction) archive(ctx context.Context, r upkeep.Reap, rows []upkeep.Row) error {
	if r.Archive == nil || len(rows) == 0 {
		return nil
	}
	records := make([]record.Record, len(rows))
	for i, row := range rows {
		kept, _ := t.db.records.get(row.Identity, true)
		records[i] = *clone(kept.rec)
	}
	if err := r.Archive(ctx, records); err != nil {
		return fmt.Errorf("memstore: what would be forgotten could not be archived: %w", err)
	}
	return nil
}

func (t *transaction) forget(rows []upkeep.Row) {
	for _, row := range rows {
		kept, _ := t.db.records.get(row.Identity, true)
		op, _ := t.db.operations.get(row.Identity.Operation, true)
		op.horizon = later(op.horizon, kept.born)
		t.db.operations.put(t, row.Identity.Operation, op)
	}
	for _, row := range rows {
		t.db.records.remove(t, row.Identity)
		t.db.refs.remove(t, row.Ref)
	}
}

// trim leaves the version: nobody's compare-and-swap is to fail by it.
func (t *transaction) trim(rows []upkeep.Row) {
	for _, row := range rows {
		kept, _ := t.db.records.get(row.Identity, true)
		kept.rec = clone(kept.rec)
		kept.rec.Result.Header, kept.rec.Result.Body, kept.rec.Result.Digest = nil, nil, record.Trimmed
		t.db.records.put(t, row.Identity, kept)
	}
}
