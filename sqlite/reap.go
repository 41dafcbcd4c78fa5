package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

// batchRows is the most a batch looks at: it has the one writer meanwhile, for a
// few milliseconds.
const batchRows = 250

// Reap implements [upkeep.Retention], as one transaction on the writer: others
// wait meanwhile, so a batch is of at most 250 records and r.Archive should be
// quick. Where there is nothing to look at it does not wait for the writer itself.
func (db *DB) Reap(ctx context.Context, r upkeep.Reap) (done upkeep.Reaped, err error) {
	now := db.opts.Now()
	some, err := someToReap(ctx, db.lookups, r.Bounded(now), now)
	if err != nil || !some {
		return upkeep.Reaped{Now: now}, migrated(err)
	}
	err = db.writing(ctx, func(unbound context.Context, s *session) error {
		now := db.opts.Now()
		b := &batch{s: s, r: r.Bounded(now), now: now, births: births{s.run, make(map[string]birthRule)}}
		b.r.Limit = min(b.r.Limit, batchRows)
		b.done.Now = now
		if err := b.work(unbound, ctx); err != nil {
			return err
		}
		if b.done.More, err = someToReap(unbound, s.run, b.r, now); err != nil {
			return err
		}
		done = b.done
		if db.parked != nil {
			db.parked()
		}
		return nil
	})
	if err != nil {
		return upkeep.Reaped{}, err
	}
	return done, nil
}

// batch is one transaction of a reaper.
type batch struct {
	s      *session
	r      upkeep.Reap
	now    time.Time
	births births
	done   upkeep.Reaped
}

// work looks at one span. Archiving ends with the caller's context; a statement
// must not, see [guard].
func (b *batch) work(ctx, caller context.Context) error {
	v, err := b.choose(ctx)
	if err != nil || v == nil {
		return err
	}
	if err := b.settle(ctx, v.rows); err != nil {
		return err
	}
	p := upkeep.PlanReap(v.rows, b.r.Until)
	b.done.Looked, b.done.Unfinished = len(v.rows), p.Unfinished
	if err := b.archive(ctx, caller, p.Forget); err != nil {
		return err
	}
	if err := b.births.raise(ctx, p.Forget); err != nil {
		return err
	}
	if b.done.Forgotten, err = b.each(ctx, forgetSQL, p.Forget); err != nil {
		return err
	}
	if b.done.Trimmed, err = b.each(ctx, trimSQL, p.Trim); err != nil {
		return err
	}
	return b.leave(ctx, v, p.Next)
}

// settle leaves alone what would be forgotten without a trace: a key with a time
// whose operation the store does not know has no horizon to raise, and one whose
// time has not come would raise it over every key that is made until then.
func (b *batch) settle(ctx context.Context, rows []upkeep.Row) error {
	for i := range rows {
		if !rows[i].Settled {
			continue
		}
		born, timed, known, err := b.births.of(ctx, rows[i].Identity)
		if err != nil {
			return err
		}
		rows[i].Settled = !timed || known && !born.After(b.now)
	}
	return nil
}

// Of the refs in a JSON array.
const (
	forgetSQL = `DELETE FROM refrain_record WHERE ref IN (SELECT value FROM json_each(?))`

	// trimSQL leaves [record.Trimmed] for a digest. The version stays: nobody's
	// compare-and-swap is to fail by a trim. What is left is moved to the end of the
	// table, where tombstones stand close together and leave whole pages free: in its
	// place it would keep most of the page that its result needed.
	trimSQL = `UPDATE refrain_record AS r SET n = (SELECT max(n) FROM refrain_record) + 1 + j.key, digest = x'00', header = NULL, body = NULL
 FROM json_each(?) AS j WHERE r.ref = j.value`
)

// each runs one statement on all of rows and demands that it changed them.
func (b *batch) each(ctx context.Context, statement string, rows []upkeep.Row) (int, error) {
	if len(rows) == 0 {
		return 0, nil
	}
	refs := make([]string, len(rows))
	for i, r := range rows {
		refs[i] = r.Ref
	}
	list, err := json.Marshal(refs)
	if err != nil {
		return 0, err
	}
	changed, err := b.s.run.exec(ctx, statement, string(list))
	if err == nil && changed != int64(len(rows)) {
		err = fmt.Errorf("%w: %d rows instead of %d", record.ErrSwapped, changed, len(rows))
	}
	return int(changed), err
}

// pageBytes is about how much of bodies is held in memory at a time.
const pageBytes = 16 << 20

// archive hands the records over as they are stored, a page at a time.
func (b *batch) archive(ctx, caller context.Context, rows []upkeep.Row) error {
	if b.r.Archive == nil {
		return nil
	}
	var page []record.Record
	size := 0
	for i, r := range rows {
		rec, err := find(ctx, b.s.run, r.Ref)
		if err != nil {
			return err
		}
		page = append(page, rec)
		if size += len(rec.Result.Body); size < pageBytes && i < len(rows)-1 {
			continue
		}
		if err := b.r.Archive(caller, page); err != nil {
			return fmt.Errorf("sqlite: what would be forgotten could not be archived: %w", err)
		}
		page, size = nil, 0
	}
	return nil
}
