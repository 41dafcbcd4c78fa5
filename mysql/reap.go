package mysql

import (
	"context"
	"slices"
	"time"

	"github.com/refrain-dev/refrain/upkeep"
)

// Reap implements [upkeep.Retention]. While it forgets it holds the rows of the
// operations: records of theirs are written before or after its transaction, so a
// batch that forgets writes 250 at most, whatever its limit. The archive is written
// before that; what somebody changes meanwhile stays.
func (db *DB) Reap(ctx context.Context, ask upkeep.Reap) (done upkeep.Reaped, err error) {
	err = db.writing(ctx, func(ctx context.Context, tx runner) error {
		done, err = db.reap(ctx, tx, ask)
		return err
	})
	if err != nil {
		return upkeep.Reaped{}, err
	}
	return done, nil
}

func (db *DB) reap(ctx context.Context, tx runner, ask upkeep.Reap) (upkeep.Reaped, error) {
	now, err := db.clock(ctx, tx)
	if err != nil {
		return upkeep.Reaped{}, err
	}
	b := &reaping{db: db, tx: tx, ask: ask.Bounded(now), now: now}
	b.done.Now = now
	found, err := b.overdue(ctx)
	if err == nil && !found {
		found, err = b.survey(ctx)
	}
	if err != nil {
		return b.done, err
	}
	if b.done.More, err = b.more(ctx); err == nil && found {
		err = b.work(ctx)
	}
	return b.done, err
}

// reaping is one batch under way.
type reaping struct {
	db  *DB
	tx  runner
	ask upkeep.Reap
	now time.Time

	span  span
	fresh bool // the span is not stored yet
	rows  []reapRow
	done  upkeep.Reaped
	again time.Time // when to look at what stays; zero: nothing stays
}

// work does what is due in the span. Locks are taken as everybody takes them: the
// operations' first, the records' then.
func (b *reaping) work(ctx context.Context) error {
	plan, rest := b.plan()
	if rest {
		b.done.More = true
		if b.fresh { // then the next survey begins there
			b.span.last, rest = encodeRef(b.rows[len(b.rows)-1].Ref), false
		}
	}
	b.done.Looked, b.done.Unfinished, b.again = len(b.rows), plan.Unfinished, plan.Next
	forget, trim := b.of(plan.Forget), b.of(plan.Trim)
	forget, err := b.archive(ctx, forget)
	if err != nil {
		return err
	}
	keyTimes, err := b.db.lockOperations(ctx, b.tx, forget)
	if err != nil {
		return err
	}
	if forget, err = b.lock(ctx, b.horizoned(forget, keyTimes)); err != nil {
		return err
	}
	if trim, err = b.lock(ctx, trim); err != nil {
		return err
	}
	if err := raise(ctx, b.tx, forget, keyTimes); err != nil {
		return err
	}
	if err := b.write(ctx, `DELETE FROM refrain_record`, forget); err != nil {
		return err
	}
	if err := b.write(ctx, `UPDATE refrain_record SET digest = X'00', header = NULL, body = NULL`, trim); err != nil {
		return err
	}
	b.done.Forgotten, b.done.Trimmed = len(forget), len(trim)
	if err := b.keepSpan(ctx, rest); err != nil {
		return err
	}
	if b.db.parked != nil && len(forget)+len(trim) > 0 {
		b.db.parked()
	}
	return nil
}

// mostHeld is how many records a batch writes that forgets any: until its COMMIT
// nobody else writes one of their operations.
const mostHeld = 250

// plan decides about the first rows, as many as make a batch. rest: there are more.
func (b *reaping) plan() (p upkeep.Plan, rest bool) {
	rows := make([]upkeep.Row, len(b.rows))
	for i, r := range b.rows {
		rows[i] = r.Row
	}
	n := min(len(rows), b.ask.Limit)
	p = upkeep.PlanReap(rows[:n], b.ask.Until)
	if writes := b.of(slices.Concat(p.Forget, p.Trim)); len(p.Forget) > 0 && len(writes) > mostHeld {
		n = slices.Index(b.rows, writes[mostHeld])
		p = upkeep.PlanReap(rows[:n], b.ask.Until)
	}
	rest = n < len(rows)
	b.rows = b.rows[:n]
	return p, rest
}

// of are the rows of a part of the plan, in order.
func (b *reaping) of(part []upkeep.Row) []reapRow {
	wanted := make(map[string]bool, len(part))
	for _, r := range part {
		wanted[r.Ref] = true
	}
	var rows []reapRow
	for _, r := range b.rows {
		if wanted[r.Ref] {
			rows = append(rows, r)
		}
	}
	return rows
}

// stays has the span looked at again no later than at t.
func (b *reaping) stays(t time.Time) {
	if b.again.IsZero() || t.Before(b.again) {
		b.again = t
	}
}

// missed is when the rows of a span are looked at again that somebody else works on.
const missed = time.Minute

// write runs a statement over rows, which are locked.
func (b *reaping) write(ctx context.Context, statement string, rows []reapRow) error {
	return inBatches(rows, func(part []reapRow) error {
		return b.db.waiting(ctx, func(ctx context.Context) error {
			_, err := b.tx.ExecContext(ctx, statement+` WHERE n IN (`+marks(len(part))+`)`, numbersOf(part)...)
			return err
		})
	})
}

func numbersOf(rows []reapRow) []any {
	numbers := make([]any, len(rows))
	for i, r := range rows {
		numbers[i] = r.n
	}
	return numbers
}
