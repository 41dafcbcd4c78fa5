package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

// errNotArchived: nothing was forgotten, because the archive did not take it.
var errNotArchived = errors.New("postgres: the archive did not take the records")

// Reap implements [upkeep.Retention], in a transaction at READ COMMITTED. It waits
// for no record that somebody else is changing and for no other reaper: what they
// have is left for the next time.
func (s *Store) Reap(ctx context.Context, r upkeep.Reap) (done upkeep.Reaped, err error) {
	if record.Nested(ctx) {
		return upkeep.Reaped{}, record.ErrNested
	}
	var refused error // of the archive, which is no error of the transaction's
	err = s.write(ctx, func(ctx context.Context, tx runner) error {
		b := batch{store: s, tx: tx, reap: r}
		refused = nil
		if archive := r.Archive; archive != nil {
			b.archive = func(ctx context.Context, forgotten []record.Record) error {
				if refused = archive(ctx, forgotten); refused != nil {
					return errNotArchived
				}
				return nil
			}
		}
		err := b.run(ctx)
		done = b.done
		return err
	})
	switch {
	case refused != nil:
		return upkeep.Reaped{}, fmt.Errorf("%w: %w", errNotArchived, refused)
	case err != nil:
		return upkeep.Reaped{}, migrated(err)
	}
	return done, nil
}

// batch is one transaction of a reaper.
type batch struct {
	store   *Store
	tx      runner
	reap    upkeep.Reap
	archive func(ctx context.Context, forgotten []record.Record) error // nil keeps none
	done    upkeep.Reaped
	left    int // timed rows that could not be forgotten with a horizon
}

// boundText has the reaper give up soon where somebody holds an operation's row:
// one who joined a transaction of his own above READ COMMITTED, which he leaves
// open. It comes again.
const boundText = `SELECT set_config('lock_timeout', '1s', true)`

func (b *batch) run(ctx context.Context) error {
	var told string
	if err := b.tx.row(ctx, boundText).Scan(&told); err != nil {
		return err
	}
	if err := b.exec(ctx, lockRecordsText); err != nil { // before any row's lock, as a rekey does
		return err
	}
	now, err := b.store.clock(ctx, b.tx)
	if err != nil {
		return err
	}
	b.reap, b.done = b.reap.Bounded(now), upkeep.Reaped{Now: now}
	work, err := b.due(ctx)
	if err == nil && work == nil {
		work, err = b.survey(ctx)
	}
	if err != nil || work == nil {
		return err
	}
	if err := b.look(ctx, work); err != nil {
		return err
	}
	if b.store.parked != nil && b.done.Trimmed+b.done.Forgotten > 0 {
		b.store.parked()
	}
	return b.tx.row(ctx, b.store.sql.text(moreText), b.reap.Until.UnixMicro(), b.settled()).Scan(&b.done.More)
}

// look does with the rows of a span what is due, and says when to look at what
// is left.
func (b *batch) look(ctx context.Context, w *span) error {
	rows, err := b.rows(ctx, w)
	if err != nil {
		return err
	}
	if len(rows) > b.reap.Limit {
		rows = rows[:b.reap.Limit]
		if err := b.split(ctx, w, packRef(rows[len(rows)-1].Ref)); err != nil {
			return err
		}
	}
	plan := upkeep.PlanReap(rows, b.reap.Until)
	b.done.Looked, b.done.Unfinished = len(rows), plan.Unfinished
	if b.done.Forgotten, err = b.forget(ctx, plan.Forget); err != nil {
		return err
	}
	if b.done.Trimmed, err = b.trim(ctx, plan.Trim); err != nil {
		return err
	}
	next := plan.Next
	if idle := upkeep.Idle(b.done.Now); b.left > 0 && (next.IsZero() || next.After(idle)) {
		next = idle
	}
	if missed := len(plan.Forget) + len(plan.Trim) - b.left - b.done.Forgotten - b.done.Trimmed; missed > 0 {
		if soon := b.done.Now.Add(time.Minute); next.IsZero() || next.After(soon) {
			next = soon
		}
	}
	return b.again(ctx, w, next)
}

func (b *batch) exec(ctx context.Context, query string, args ...any) error {
	_, err := b.tx.exec(ctx, b.store.sql.text(query), args...)
	return err
}

// settled is where the refs end that a survey may look at.
func (b *batch) settled() []byte {
	return packRef(upkeep.Settled(b.done.Now))
}
