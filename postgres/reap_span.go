package postgres

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/refrain-dev/refrain/upkeep"
)

// span is an [upkeep.Span] as it is stored, and what a batch works on.
type span struct {
	after, last []byte
	due         int64
	empty       bool // nothing was left in it
	fresh       bool // it is no row yet
}

const (
	overdueText = `SELECT s.after, s.last, s.due FROM {schema}.span s WHERE s.due <= $1::int8
ORDER BY s.due, s.last LIMIT 1 FOR UPDATE SKIP LOCKED`

	// moreText sees what the batch itself has left.
	moreText = `SELECT coalesce((SELECT true FROM {schema}.span s WHERE s.due <= $1::int8 ORDER BY s.due LIMIT 1),
 (SELECT true FROM {schema}.record r WHERE r.ref > ` + surveyedText + ` AND r.ref < $2::bytea ORDER BY r.ref LIMIT 1), false)`

	// surveyedText is how far the surveys have come.
	surveyedText = `coalesce((SELECT s.last FROM {schema}.span s ORDER BY s.last DESC LIMIT 1), ''::bytea)`
)

// due is the span that has waited longest, which is locked; nil when nothing is
// due that no other reaper has.
func (b *batch) due(ctx context.Context) (*span, error) {
	var s span
	err := b.tx.row(ctx, b.store.sql.text(overdueText), b.reap.Until.UnixMicro()).Scan(&s.after, &s.last, &s.due)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	b.done.Lag = b.done.Now.Sub(time.UnixMicro(s.due))
	return &s, err
}

const (
	surveyLockText = `SELECT pg_try_advisory_xact_lock($1::int8)`

	newestText = `SELECT ` + surveyedText

	surveyText = `SELECT n.ref FROM (SELECT r.ref FROM {schema}.record r WHERE r.ref > $1::bytea AND r.ref < $2::bytea
 ORDER BY r.ref LIMIT $3::int8) n ORDER BY n.ref DESC LIMIT 1`

	// returnText makes spans due that lie in the future of a clock that was set back.
	returnText = `UPDATE {schema}.span SET due = $2::int8 WHERE last IN (SELECT s.last FROM {schema}.span s
 WHERE s.last > $1::bytea AND s.due > $2::int8 FOR UPDATE SKIP LOCKED)`
)

// survey makes a span of the next records that no reaper has seen; nil where there
// are none, or where another reaper is at it.
func (b *batch) survey(ctx context.Context) (*span, error) {
	var mine bool
	lock := int64(salt("survey " + b.store.sql.schema))
	if err := b.tx.row(ctx, surveyLockText, lock).Scan(&mine); err != nil || !mine {
		return nil, err
	}
	w := &span{due: b.done.Now.UnixMicro(), fresh: true}
	if err := b.tx.row(ctx, b.store.sql.text(newestText)).Scan(&w.after); err != nil {
		return nil, err
	}
	settled := b.settled()
	if bytes.Compare(settled, w.after) < 0 {
		return nil, b.exec(ctx, returnText, settled, upkeep.Idle(b.done.Now).UnixMicro())
	}
	err := b.tx.row(ctx, b.store.sql.text(surveyText), w.after, settled, int64(b.reap.Limit)).Scan(&w.last)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return w, nil
}

const (
	insertSpanText = `INSERT INTO {schema}.span (after, last, due, empty) VALUES ($2::bytea, $1::bytea, $3::int8, $4::bool)`
	putSpanText    = `UPDATE {schema}.span SET after = $2::bytea, due = $3::int8, empty = $4::bool WHERE last = $1::bytea`

	// joinText takes away the span before this one, if it is empty and nobody is at it.
	joinText = `DELETE FROM {schema}.span WHERE last = (SELECT s.last FROM {schema}.span s WHERE s.last = $1::bytea AND s.empty FOR UPDATE SKIP LOCKED)
RETURNING after, due`
)

// split leaves what lies behind last for another batch and goes on with the rest.
func (b *batch) split(ctx context.Context, w *span, last []byte) error {
	rest := span{after: last, last: w.last, due: w.due, fresh: w.fresh}
	w.last, w.fresh = last, true
	return b.put(ctx, &rest)
}

// put writes the span as it is.
func (b *batch) put(ctx context.Context, w *span) error {
	text := putSpanText
	if w.fresh {
		text = insertSpanText
	}
	return b.exec(ctx, text, w.last, w.after, w.due, w.empty)
}

// again keeps a span until it is looked at next; the zero time says that nothing is
// left in it. Such spans become one. They are not joined with what is alive: each
// look at that would have to pass all that is dead.
func (b *batch) again(ctx context.Context, w *span, next time.Time) error {
	if w.empty = next.IsZero(); !w.empty {
		w.due = next.UnixMicro()
		return b.put(ctx, w)
	}
	w.due = upkeep.Idle(b.done.Now).UnixMicro()
	var before span
	err := b.tx.row(ctx, b.store.sql.text(joinText), w.after).Scan(&before.after, &before.due)
	switch {
	case err == nil:
		w.after, w.due = before.after, min(before.due, w.due) // not put off again and again
	case !errors.Is(err, sql.ErrNoRows):
		return err
	}
	return b.put(ctx, w)
}

// Spans implements [upkeep.Retention].
func (s *Store) Spans(ctx context.Context) (spans []upkeep.Span, err error) {
	err = each(ctx, s.read, func(row scanner) error {
		var w span
		err := row.Scan(&w.after, &w.last, &w.due)
		after := ""
		if len(w.after) > 0 {
			after = unpackRef(w.after)
		}
		spans = append(spans, upkeep.Span{After: after, Last: unpackRef(w.last), Due: time.UnixMicro(w.due).UTC()})
		return err
	}, s.sql.text(`SELECT after, last, due FROM {schema}.span ORDER BY last`))
	return spans, migrated(err)
}
