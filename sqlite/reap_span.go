package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/refrain-dev/refrain/upkeep"
)

// someToReapSQL: a span is due, there are records beyond the newest span, or a
// clock that went back makes refs within spans again. The plus sign keeps SQLite
// from the index of due, by which almost every span is later.
const someToReapSQL = `SELECT EXISTS (SELECT 1 FROM refrain_span WHERE due <= ?1)
 OR EXISTS (SELECT 1 FROM refrain_record WHERE ref > coalesce((SELECT max(last) FROM refrain_span), '') AND ref <= ?2)
 OR EXISTS (SELECT 1 FROM refrain_span WHERE last > ?2 AND +due > ?3)`

func someToReap(ctx context.Context, q runner, r upkeep.Reap, now time.Time) (some bool, err error) {
	err = q.row(ctx, someToReapSQL, func(r row) error {
		some = r.integer(0) != 0
		return nil
	}, r.Until.UnixMicro(), upkeep.Settled(now), upkeep.Idle(now).UnixMicro())
	return some, err
}

const (
	spanColumns   = `SELECT after, last, due FROM refrain_span `
	dueSpanSQL    = spanColumns + `WHERE due <= ? ORDER BY due LIMIT 1`
	newestSpanSQL = spanColumns + `ORDER BY last DESC LIMIT 1`
	setBackSQL    = `UPDATE refrain_span SET due = ?1 WHERE last > ?2 AND +due > ?1`
	mergeSQL      = `UPDATE refrain_span SET after = ?1 WHERE last = (SELECT min(last) FROM refrain_span WHERE last > ?2)`

	spanRowsSQL = `SELECT ` + columns + `, r.hash,
 EXISTS (SELECT 1 FROM refrain_external e WHERE e.action = r.ref AND (e.final IS NULL OR e.disputed))
FROM refrain_record r WHERE r.ref > ? AND r.ref <= ? ORDER BY r.ref LIMIT ?`
)

// view is what a batch looks at.
type view struct {
	span upkeep.Span
	rows []upkeep.Row
	old  *upkeep.Span // that span comes from; nil where none was there
	rest *upkeep.Span // what of old was too much for a batch
}

// choose is the most overdue span, else what no span has yet; nil where there is
// neither.
func (b *batch) choose(ctx context.Context) (*view, error) {
	settled := upkeep.Settled(b.now)
	_, err := b.s.run.exec(ctx, setBackSQL, upkeep.Idle(b.now).UnixMicro(), settled)
	if err != nil {
		return nil, err
	}
	due, err := oneSpan(ctx, b.s.run, dueSpanSQL, b.r.Until.UnixMicro())
	if err != nil {
		return nil, err
	}
	if due != nil {
		return b.again(ctx, due)
	}
	newest, err := oneSpan(ctx, b.s.run, newestSpanSQL)
	if err != nil {
		return nil, err
	}
	return b.survey(ctx, newest, settled)
}

// again looks at a span that is due.
func (b *batch) again(ctx context.Context, due *upkeep.Span) (*view, error) {
	b.done.Lag = b.now.Sub(due.Due)
	v := &view{span: *due, old: due}
	rows, err := b.read(ctx, due.After, due.Last, b.r.Limit+1)
	if err != nil {
		return nil, err
	}
	if len(rows) > b.r.Limit {
		rows = rows[:b.r.Limit]
		v.span.Last = rows[len(rows)-1].Ref
		v.rest = &upkeep.Span{After: v.span.Last, Last: due.Last, Due: due.Due}
	}
	v.rows = rows
	return v, nil
}

// survey looks at records beyond the newest span and takes that one over if
// nothing is left in it.
func (b *batch) survey(ctx context.Context, newest *upkeep.Span, settled string) (*view, error) {
	v := &view{}
	if newest != nil {
		v.span.After = newest.Last
	}
	var err error
	v.rows, err = b.read(ctx, v.span.After, settled, b.r.Limit)
	if err != nil || len(v.rows) == 0 {
		return nil, err
	}
	v.span.Last = v.rows[len(v.rows)-1].Ref
	if newest != nil {
		left, err := b.read(ctx, newest.After, newest.Last, 1)
		if err != nil {
			return nil, err
		}
		if len(left) == 0 {
			v.old, v.span.After = newest, newest.After
		}
	}
	return v, nil
}

// leave writes the spans as the batch leaves them: next is when to look at span
// again, zero when nothing is left in it. An empty one becomes a part of the one
// behind it.
func (b *batch) leave(ctx context.Context, v *view, next time.Time) error {
	if v.old != nil {
		if err := one(b.s.run.exec(ctx, `DELETE FROM refrain_span WHERE last = ?`, v.old.Last)); err != nil {
			return err
		}
	}
	switch {
	case !next.IsZero():
	case v.rest != nil:
		v.rest.After = v.span.After
	default:
		merged, err := b.s.run.exec(ctx, mergeSQL, v.span.After, v.span.Last)
		if err != nil {
			return err
		}
		if merged == 0 {
			next = upkeep.Idle(b.now)
		}
	}
	if !next.IsZero() {
		v.span.Due = next
		if err := putSpan(ctx, b.s.run, v.span); err != nil {
			return err
		}
	}
	if v.rest == nil {
		return nil
	}
	return putSpan(ctx, b.s.run, *v.rest)
}

func putSpan(ctx context.Context, q runner, s upkeep.Span) error {
	_, err := q.exec(ctx, `INSERT INTO refrain_span (after, last, due) VALUES (?, ?, ?)`, s.After, s.Last, s.Due.UnixMicro())
	return err
}

func oneSpan(ctx context.Context, q runner, query string, args ...any) (s *upkeep.Span, err error) {
	err = q.row(ctx, query, func(r row) error {
		found := decodeSpan(r)
		s = &found
		return nil
	}, args...)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return s, err
}

// read reads the records between two refs as a reaper sees them. One that cannot
// be read, or is not where its identity belongs, is left for a person.
func (b *batch) read(ctx context.Context, after, last string, limit int) (rows []upkeep.Row, err error) {
	err = b.s.run.rows(ctx, spanRowsSQL, func(r row) error {
		rec, err := decode(r, 0, false)
		hash := rec.Identity.Hash()
		rows = append(rows, upkeep.Row{
			Ref: r.text(0), Version: rec.Version, Identity: rec.Identity,
			Settled: err == nil && bytes.Equal(r.blob(bodyColumn), hash[:]) && rec.State.Final() && !rec.Disputed && r.integer(bodyColumn+1) == 0,
			Kept:    rec.Result.Kept(), Created: instant(r, 13), ReplayUntil: rec.ReplayUntil, RememberUntil: rec.RememberUntil,
		})
		return nil
	}, after, last, limit)
	return rows, err
}

// Spans implements [upkeep.Retention].
func (db *DB) Spans(ctx context.Context) (all []upkeep.Span, err error) {
	err = db.lookups.rows(ctx, spanColumns+`ORDER BY last`, func(r row) error {
		all = append(all, decodeSpan(r))
		return nil
	})
	return all, migrated(err)
}

func decodeSpan(r row) upkeep.Span {
	return upkeep.Span{After: r.text(0), Last: r.text(1), Due: instant(r, 2)}
}
