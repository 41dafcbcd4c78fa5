package mysql

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/refrain-dev/refrain/upkeep"
)

// span is one as it is stored.
type span struct {
	after, last []byte
	due         time.Time
}

const spanColumns = `after, last, due`

const (
	overdueSQL = `SELECT ` + spanColumns + ` FROM refrain_span FORCE INDEX (refrain_span_due) WHERE due <= ? AND last <> ? ORDER BY due LIMIT 1`
	newestSQL  = `SELECT ` + spanColumns + ` FROM refrain_span ORDER BY last DESC LIMIT 1`
	nextSQL    = `SELECT ` + spanColumns + ` FROM refrain_span WHERE last > ? ORDER BY last LIMIT 1`
	thisSQL    = `SELECT ` + spanColumns + ` FROM refrain_span WHERE last = ? LIMIT 1`
	unheld     = ` FOR UPDATE SKIP LOCKED`

	inhabitedSQL = `SELECT 1 FROM refrain_record FORCE INDEX (refrain_record_ref) WHERE ref > ? AND ref <= ? LIMIT 1`
	behindSQL    = `SELECT 1 FROM refrain_record FORCE INDEX (refrain_record_ref) WHERE ref > ? AND ref < ? LIMIT 1`
)

// Spans returns how far reapers have come, in order.
func (db *DB) Spans(ctx context.Context) (all []upkeep.Span, err error) {
	err = db.reading(ctx, func(ctx context.Context, q runner) error {
		rows, err := q.QueryContext(ctx, `SELECT `+spanColumns+` FROM refrain_span WHERE last > X'' ORDER BY last`+every)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			s, err := readSpan(rows)
			if err != nil {
				return err
			}
			told := upkeep.Span{Due: s.due}
			if len(s.after) > 0 {
				if told.After, err = decodeRef(s.after); err != nil {
					return err
				}
			}
			if told.Last, err = decodeRef(s.last); err != nil {
				return err
			}
			all = append(all, told)
		}
		return rows.Err()
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

func readSpan(s scanner) (span, error) {
	r, err := scanAny(s, 3)
	if err != nil {
		return span{}, err
	}
	return span{after: r.blob(0), last: r.blob(1), due: r.instant(2)}, nil
}

// one reads the span that a query selects, if there is one.
func (b *reaping) one(ctx context.Context, query string, args ...any) (s span, found bool, err error) {
	s, err = readSpan(b.tx.QueryRowContext(ctx, query, args...))
	if errors.Is(err, sql.ErrNoRows) {
		return s, false, nil
	}
	return s, err == nil, err
}

func (b *reaping) exists(ctx context.Context, query string, args ...any) (bool, error) {
	var one int
	err := b.tx.QueryRowContext(ctx, query, args...).Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// overdue takes the most overdue span that no other reaper has, and reads it.
func (b *reaping) overdue(ctx context.Context) (found bool, err error) {
	if b.span, found, err = b.one(ctx, overdueSQL+unheld, b.ask.Until.UnixMicro(), []byte{}); err != nil || !found {
		return false, err
	}
	b.done.Lag = b.now.Sub(b.span.due)
	b.rows, err = b.read(ctx, inSpanSQL, b.span.after, b.span.last, b.ask.Limit+1)
	return true, err
}

// survey makes a span of the oldest records behind all others that are settled down,
// and reads it. One reaper at a time does.
func (b *reaping) survey(ctx context.Context) (found bool, err error) {
	if _, found, err = b.one(ctx, thisSQL+unheld, []byte{}); err != nil || !found {
		return false, err
	}
	newest, _, err := b.one(ctx, newestSQL)
	if err != nil {
		return false, err
	}
	bound := b.settled()
	if bytes.Compare(bound, newest.last) < 0 {
		return false, b.hurry(ctx, bound)
	}
	b.rows, err = b.read(ctx, newSQL, newest.last, bound, b.ask.Limit)
	if err != nil || len(b.rows) == 0 {
		return false, err
	}
	b.fresh, b.span = true, span{after: newest.last, last: encodeRef(b.rows[len(b.rows)-1].Ref)}
	return true, b.inherit(ctx, newest)
}

// settled is where records begin that may still be on their way.
func (b *reaping) settled() []byte { return encodeRef(upkeep.Settled(b.now)) }

// hurry has spans looked at soon after the clock went back: new records come into
// them.
func (b *reaping) hurry(ctx context.Context, bound []byte) error {
	idle := upkeep.Idle(b.now).UnixMicro()
	return b.db.waiting(ctx, func(ctx context.Context) error {
		_, err := b.tx.ExecContext(ctx, `UPDATE refrain_span SET due = ? WHERE last > ? AND due > ?`, idle, bound, idle)
		return err
	})
}

// inherit lets the new span take the place of the newest one, too, if that has no
// records any more.
func (b *reaping) inherit(ctx context.Context, newest span) error {
	if len(newest.last) == 0 {
		return nil
	}
	old, found, err := b.one(ctx, thisSQL+unheld, newest.last)
	if err != nil || !found {
		return err
	}
	if inhabited, err := b.exists(ctx, inhabitedSQL, old.after, old.last); err != nil || inhabited {
		return err
	}
	b.span.after = old.after
	return b.drop(ctx, old)
}

func (b *reaping) drop(ctx context.Context, s span) error {
	return one(b.tx.ExecContext(ctx, `DELETE FROM refrain_span WHERE last = ?`, s.last))
}

func (b *reaping) store(ctx context.Context, s span) error {
	_, err := b.tx.ExecContext(ctx, `INSERT INTO refrain_span (after, last, due) VALUES (?, ?, ?)`, s.after, s.last, s.due.UnixMicro())
	return err
}

// change writes what is new of a span, which is locked.
func (b *reaping) change(ctx context.Context, s span) error {
	_, err := b.tx.ExecContext(ctx, `UPDATE refrain_span SET after = ?, due = ? WHERE last = ?`, s.after, s.due.UnixMicro(), s.last)
	return err
}

// keepSpan writes when the span is looked at again, or gives it up where nothing is
// left of it. rest: it has more records than were read.
func (b *reaping) keepSpan(ctx context.Context, rest bool) error {
	s := b.span
	left := !b.again.IsZero()
	s.due = b.again
	if !left {
		s.due = upkeep.Idle(b.now)
	}
	if rest {
		later := span{after: b.span.after, last: b.span.last, due: b.ask.Until}
		if left {
			s.last = encodeRef(b.rows[len(b.rows)-1].Ref)
			later.after = s.last
			if err := b.store(ctx, s); err != nil {
				return err
			}
		}
		return b.change(ctx, later)
	}
	if b.fresh {
		return b.store(ctx, s)
	}
	if !left {
		if merged, err := b.merge(ctx); err != nil || merged {
			return err
		}
	}
	return b.change(ctx, s)
}

// merge leaves the span, which is empty, to the next one, if nobody has that.
func (b *reaping) merge(ctx context.Context) (merged bool, err error) {
	next, found, err := b.one(ctx, nextSQL, b.span.last)
	if err != nil || !found {
		return false, err
	}
	next, found, err = b.one(ctx, thisSQL+unheld, next.last)
	if err != nil || !found || !bytes.Equal(next.after, b.span.last) { // it was split meanwhile
		return false, err
	}
	next.after = b.span.after
	if err := b.change(ctx, next); err != nil {
		return false, err
	}
	return true, b.drop(ctx, b.span)
}

// more reports that there is something to look at by now beside the span, for this
// reaper or another.
func (b *reaping) more(ctx context.Context) (bool, error) {
	seen := append([]byte{}, b.span.last...)
	_, found, err := b.one(ctx, overdueSQL, b.ask.Until.UnixMicro(), seen)
	if err != nil || found {
		return found, err
	}
	newest, _, err := b.one(ctx, newestSQL)
	if err != nil {
		return false, err
	}
	if b.fresh {
		newest = b.span
	}
	return b.exists(ctx, behindSQL, newest.last, b.settled())
}
