package external

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"
)

// errNothing is a change's word that there is nothing to write.
var errNothing = errors.New("external: nothing to write")

// errGone: the operation is not there. An ErrNotFound of Step.Settle is not that.
var errGone = fmt.Errorf("external: %w", record.ErrNotFound)

// change writes what next makes of an operation, together with everything that
// follows: the record's state or, where the outcome becomes final, the business
// writes and the result.
func (r *Runner[T]) change(ctx context.Context, ref string, next func(operation.Seen) (operation.Operation, error)) (operation.Operation, error) {
	return r.audited(ctx, ref, &operation.Edit{}, next)
}

// audited is change with a line of audit, which next may complete.
func (r *Runner[T]) audited(ctx context.Context, ref string, line *operation.Edit, next func(operation.Seen) (operation.Operation, error)) (is operation.Operation, err error) {
	var was operation.Operation
	var now time.Time
	found := false
	err = r.store.Change(ctx, ref, func(ctx context.Context, tx T, seen operation.Seen) (operation.Edit, error) {
		was, now, found = seen.Operation, seen.Now, true
		to, err := next(seen)
		if err != nil {
			return operation.Edit{}, err
		}
		is = to
		edit := mirrored(seen, to)
		if to.State.Final() && (!seen.Operation.State.Final() || seen.Operation.Disputed && !to.Disputed) {
			rec, err := r.settle(ctx, tx, seen, to)
			if err != nil {
				return operation.Edit{}, err
			}
			if rec != nil {
				edit.Record = rec
			}
		}
		edit.By, edit.Action, edit.Reason, edit.Detail = line.By, line.Action, line.Reason, line.Detail
		return edit, nil
	})
	switch {
	case errors.Is(err, errNothing):
		return was, nil
	case !found && errors.Is(err, record.ErrNotFound):
		return was, errGone
	case err != nil:
		return was, err
	}
	r.noticed(ctx, was, is, now)
	return is, nil
}

// maxSettle bounds one run of Step.Settle.
const maxSettle = 30 * time.Second

// settle runs Step.Settle and returns the record as it then is, nil where it
// stays as it is or where there is none.
func (r *Runner[T]) settle(ctx context.Context, tx T, seen operation.Seen, to operation.Operation) (*record.Record, error) {
	step, known := r.steps[to.Step]
	if !known {
		return nil, errUnknownStep(to)
	}
	s := Settled{Operation: to, Confirmed: to.State == record.Confirmed, Reply: *to.Answer, Now: seen.Now, Corrects: seen.Operation.State.Final()}
	policy := record.Policy{
		ReplayFor: to.Memory.ReplayFor, RememberFor: to.Memory.RememberFor, MaxResult: to.Memory.MaxResult,
		Digest: true, MaxExecution: maxSettle,
	}
	claim := record.Claim{Policy: policy}
	if seen.Record == nil {
		ctx, cancel := context.WithTimeout(ctx, policy.MaxExecution)
		defer cancel()
		_, err := render(ctx, step, tx, s)
		return nil, err
	}
	rec := *seen.Record
	s.Decided = rec.State.Final() && !s.Corrects
	rec.State = record.Submitted
	if s.Decided || s.Corrects {
		rec.State = record.Accepted // an action that was settled before does not go on
	}
	bounded, cancel := claim.Bound(ctx, &rec)
	defer cancel()
	result, err := render(bounded, step, tx, s)
	if err == nil {
		err = bounded.Err()
	}
	if err != nil {
		return nil, err
	}
	result.Rejected = !s.Confirmed
	result.Effect = cmp.Or(result.Effect, s.Reply.Reference)
	if result, err = claim.Keep(result); err != nil {
		return nil, err
	}
	switch {
	case s.Corrects:
		return corrected(seen, result, policy)
	case s.Decided:
		return nil, nil
	case rec.State == record.Accepted: // the next step was accepted
		rec.Lease = time.Time{}
		return &rec, nil
	}
	rec.Settle(result, seen.Now, policy)
	rec.Lease = time.Time{}
	return &rec, nil
}

// corrected is a record whose dispute a person has ended. While the action still
// waits for a later step, only the dispute goes.
func corrected(seen operation.Seen, result record.Result, policy record.Policy) (*record.Record, error) {
	if rec := *seen.Record; !rec.State.Final() {
		rec.Disputed = false
		return &rec, nil
	}
	edit, err := record.Resolve(record.Seen{Record: disputed(seen.Record)}, seen.Now, result, policy, "operation", "decided")
	return edit.Put, err
}

// disputed is rec as its operation is: a person may have resolved it already.
func disputed(rec *record.Record) *record.Record {
	d := *rec
	d.Disputed = true
	return &d
}

// render runs the callback; a panic of it is an error, and nothing is written.
func render[T any](ctx context.Context, step Step[T], tx T, s Settled) (result record.Result, err error) {
	if step.Settle == nil {
		return record.Result{Effect: s.Reply.Reference}, nil
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("external: Settle of step %q panicked: %v", step.Name, p)
		}
	}()
	result, err = step.Settle(ctx, tx, s)
	if err != nil {
		err = fmt.Errorf("external: Settle of step %q: %w", step.Name, err)
	}
	return result, err
}

// close writes the reply of attempt n, however often the store fails, while the
// runner lives. It reports whether it was written.
func (r *Runner[T]) close(live *lives, o operation.Operation, n int, reply operation.Reply, took time.Duration) bool {
	pace := r.steps[o.Step].Pace
	is := o
	written := r.persist(live.writes, o, func() (err error) {
		is, err = r.change(live.writes, o.Ref, func(seen operation.Seen) (operation.Operation, error) {
			if told(seen.Operation, n, reply) {
				return operation.Operation{}, errNothing
			}
			return adopted(seen).Close(n, reply, seen.Now, pace), nil
		})
		return err
	})
	if written {
		r.observe(live.writes, is, Event{Kind: Closed, Attempt: n, End: reply.End, Took: took})
	}
	return written
}

// adopted is the seen operation as a decision about its record leaves it, which
// an answer that comes later can contradict and not undo.
func adopted(seen operation.Seen) operation.Operation {
	if seen.Record == nil {
		return seen.Operation
	}
	return seen.Operation.Adopt(*seen.Record)
}

// told reports whether attempt n has ended with this reply already: the answer to
// a COMMIT was lost.
func told(o operation.Operation, n int, reply operation.Reply) bool {
	for _, a := range o.Attempts {
		if a.N == n {
			return a.End == reply.End
		}
	}
	return false
}

// end settles what needs no provider.
func (r *Runner[T]) end(live *lives, o operation.Operation) bool {
	return r.persist(live.writes, o, func() error {
		_, err := r.change(live.writes, o.Ref, func(seen operation.Seen) (operation.Operation, error) {
			was := seen.Operation
			if was.Version != o.Version { // claimed anew, or somebody has acted
				return was, errNothing
			}
			next := adopted(seen).Expire(seen.Now)
			if next.State == was.State {
				return next, errNothing
			}
			return next, nil
		})
		return err
	})
}

// The pace at which a write is tried again.
const (
	persistFirst = 10 * time.Millisecond
	persistMost  = 10 * time.Second
)

// persist runs write until it succeeds or ctx ends.
func (r *Runner[T]) persist(ctx context.Context, o operation.Operation, write func() error) bool {
	for try := 0; ; try++ {
		err := finished(write)
		if err == nil || errors.Is(err, errGone) {
			return true
		}
		r.observe(ctx, o, Event{Kind: Failed, Err: err})
		t := time.NewTimer(record.Backoff(persistFirst, persistMost, try))
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return false
		}
	}
}

var errExited = errors.New("external: Settle has ended its goroutine")

// finished runs write, whose Step.Settle may end the goroutine: that is an error of
// it like a panic, and the provider's reply is not lost with it.
func finished(write func() error) error {
	err := errExited
	done := make(chan struct{})
	go func() {
		defer close(done)
		err = write()
	}()
	<-done
	return err
}

// noticed tells what a committed change means.
func (r *Runner[T]) noticed(ctx context.Context, was, is operation.Operation, now time.Time) {
	passed := is.State.Final() || is.Due.IsZero()
	switch {
	case is.Disputed && !was.Disputed:
		r.observe(ctx, is, Event{Kind: Disputed, Why: is.Why})
	case is.State.Final():
		if !was.State.Final() || was.Disputed && !is.Disputed {
			r.observe(ctx, is, Event{Kind: Final})
		}
	case is.Due.IsZero() && !was.Due.IsZero():
		r.observe(ctx, is, Event{Kind: Parked, Why: is.Why})
	}
	if l := r.lanes[is.Provider]; l != nil && (passed && is.Partition != "" || !passed && !is.Due.After(now)) {
		signal(l.due)
	}
}
