package memstore

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

// Spans implements [upkeep.Retention].
func (db *DB) Spans(ctx context.Context) ([]upkeep.Span, error) {
	db.mu.RLock()
	defer db.mu.RUnlock()
	if err := db.readable(ctx); err != nil {
		return nil, err
	}
	return db.spansInOrder(false), nil
}

func (db *DB) spansInOrder(mine bool) []upkeep.Span {
	var all []upkeep.Span
	for _, s := range db.spans.all(mine) {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b upkeep.Span) int { return strings.Compare(a.Last, b.Last) })
	return all
}

// view is what a batch looks at.
type view struct {
	span upkeep.Span
	refs []string     // of its records
	old  *upkeep.Span // that span comes from, or takes over; nil where none was there
	due  bool         // old was due
	rest *upkeep.Span // what of old was too much for one batch
}

// view is of the most overdue span, else of what no span has yet; nil where there
// is neither.
func (t *transaction) view(r upkeep.Reap, now time.Time) *view {
	settled := upkeep.Settled(now)
	spans := t.db.spansInOrder(true)
	var newest, due *upkeep.Span
	for i := range spans {
		s := &spans[i]
		if idle := upkeep.Idle(now); s.Last > settled && s.Due.After(idle) { // the clock went back
			s.Due = record.Micro(idle)
			t.db.spans.put(t, s.Last, *s)
		}
		if !s.Due.After(r.Until) && (due == nil || s.Due.Before(due.Due)) {
			due = s
		}
		newest = s
	}
	if due != nil {
		v := &view{span: *due, old: due, due: true, refs: t.db.between(due.After, due.Last, true)}
		if len(v.refs) > r.Limit {
			v.refs = v.refs[:r.Limit]
			v.span.Last = v.refs[r.Limit-1]
			v.rest = &upkeep.Span{After: v.span.Last, Last: due.Last, Due: due.Due}
		}
		return v
	}
	v := &view{}
	if newest != nil {
		v.span.After = newest.Last
	}
	v.refs = t.db.between(v.span.After, settled, true)
	if len(v.refs) == 0 {
		return nil
	}
	v.refs = v.refs[:min(len(v.refs), r.Limit)]
	v.span.Last = v.refs[len(v.refs)-1]
	if newest != nil && len(t.db.between(newest.After, newest.Last, true)) == 0 {
		v.old, v.span.After = newest, newest.After
	}
	return v
}

// leave writes the spans as the batch leaves them: next is when to look at its
// span again, zero when nothing is left in it. An empty one becomes a part of the
// one behind it.
func (t *transaction) leave(v *view, next, now time.Time) {
	spans := &t.db.spans
	if v.old != nil {
		spans.remove(t, v.old.Last)
	}
	if v.rest != nil {
		spans.put(t, v.rest.Last, *v.rest)
	}
	if next.IsZero() {
		for _, s := range t.db.spansInOrder(true) {
			if s.Last > v.span.Last {
				s.After = v.span.After
				spans.put(t, s.Last, s)
				return
			}
		}
		next = upkeep.Idle(now)
	}
	v.span.Due = record.Micro(next)
	spans.put(t, v.span.Last, v.span)
}
