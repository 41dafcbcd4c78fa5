package external

import (
	"context"
	"fmt"
	"time"

	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"
)

// take claims the due operations of one provider until ctx ends. A claim that is
// under way then goes on: what it opens would else be taken for lost.
func (r *Runner[T]) take(ctx, claims context.Context, l *lane) {
	wait := r.options.Poll
	for ctx.Err() == nil {
		room := l.room()
		if room <= 0 {
			select {
			case <-l.freed:
			case <-ctx.Done():
			}
			continue
		}
		n, err := r.batch(claims, l, room)
		if err != nil && ctx.Err() == nil {
			r.observe(ctx, operation.Operation{Provider: l.name}, Event{Kind: Failed, Err: err})
		}
		if n < room {
			wait = l.pause(ctx, wait, r.options.Poll)
		}
	}
}

// batch takes up to n operations and begins the work on them. It returns how many
// were written.
func (r *Runner[T]) batch(ctx context.Context, l *lane, n int) (int, error) {
	if !l.enter(n) {
		return 0, nil // somebody drives one in band
	}
	submits := l.breaker.reserve(n)
	plans := make(map[string]plan, n)
	sent := time.Now()
	taken, now, err := r.store.Take(ctx, l.name, n, func(seen operation.Seen) operation.Edit {
		ref := seen.Operation.Ref
		begun := 0
		for other, p := range plans {
			if p.job == submitting && other != ref { // asked again, it is counted once
				begun++
			}
		}
		p := r.plan(l, seen, begun < submits)
		plans[ref] = p
		return p.edit
	})
	jobs, submitted := 0, 0
	for _, o := range taken {
		p := plans[o.Ref]
		r.noticed(ctx, p.was, o, now)
		if _, known := r.steps[o.Step]; !known {
			r.observe(ctx, o, Event{Kind: Failed, Err: errUnknownStep(o)})
		}
		if p.job == 0 {
			continue
		}
		jobs++
		if p.job == submitting {
			submitted++
		}
		r.launch(l, o, p.job, clock{now, sent})
	}
	if submits > 0 && submitted == 0 {
		l.breaker.spare()
	}
	l.free(n-jobs, n-jobs)
	return len(taken), err
}

// job is what is left to do about an operation after it was claimed.
type job uint8

const (
	submitting job = iota + 1
	asking
	settling // what needs no provider: it expired, or a person has decided
)

type plan struct {
	job  job
	edit operation.Edit
	was  operation.Operation
}

// plan decides what becomes of a due operation. What needs Step.Settle is only
// claimed: the store takes many in one transaction.
func (r *Runner[T]) plan(l *lane, seen operation.Seen, submits bool) plan {
	o, now, lease := seen.Operation, seen.Now, r.options.Lease
	write := func(next operation.Operation, j job) plan {
		return plan{j, mirrored(seen, next), o}
	}
	step, known := r.steps[o.Step]
	switch {
	case o.State.Final():
		return plan{was: o}
	case !known: // another version's, which may run beside this one
		return write(postponed(o, now.Add(lease)), 0)
	case seen.Record != nil && seen.Record.State.Final():
		return write(postponed(o, now.Add(lease)), settling)
	case o.Doubtful(seen.LostUntil):
		return write(o.Doubt(seen.LostUntil, now), 0)
	}
	switch o.Next(l.terms, now) {
	case operation.Submit:
		switch {
		case !seen.Behind.IsZero():
			return write(o.Yield(seen.Behind, now, step.Pace), 0)
		case !submits:
			return write(o.Yield(time.Time{}, now, operation.Pace{First: l.breaker.left()}), 0)
		}
		next, err := o.Open(l.terms, now, lease)
		if err != nil {
			return write(o.Leave(err), 0)
		}
		return write(next, submitting)
	case operation.Ask:
		return write(o.Inquire(now, lease), asking)
	case operation.Abandon:
		return write(o.Abandon(now, step.Pace), 0)
	case operation.Expire:
		return write(postponed(o, now.Add(lease)), settling)
	case operation.Leave:
		return write(o.Leave(o.Safe(l.terms, now)), 0)
	}
	return plan{was: o}
}

// postponed is for what is claimed or left to others, whatever its state.
func postponed(o operation.Operation, due time.Time) operation.Operation {
	o.Due = record.Micro(due)
	return o
}

// mirrored is next and the record as it stands by it.
func mirrored(seen operation.Seen, next operation.Operation) operation.Edit {
	edit := operation.Edit{Put: &next}
	if seen.Record != nil {
		if rec, changed := next.Mirror(*seen.Record); changed {
			edit.Record = &rec
		}
	}
	return edit
}

// launch begins the work on a claimed operation. Its places in the lane are given
// back by the work.
func (r *Runner[T]) launch(l *lane, o operation.Operation, j job, c clock) {
	live, done := r.begin(o.Ref, true)
	go r.carryOut(live, done, l, o, j, c)
}

func (r *Runner[T]) carryOut(live *lives, done func(bool), l *lane, o operation.Operation, j job, c clock) {
	var written bool
	defer func() { done(written) }()
	defer l.left(1)
	switch j {
	case submitting:
		written = r.submit(live, l, o, c)
	case asking:
		written = r.ask(live, l, o, c)
	case settling:
		l.called(1)
		written = r.end(live, o)
	}
}

// errUnknownStep is what a runner without the step tells, and what a person meets
// who acts by it.
func errUnknownStep(o operation.Operation) error {
	return fmt.Errorf("%w: %q of %s", ErrNoStep, o.Step, o.Ref)
}
