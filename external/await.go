package external

import (
	"context"
	"errors"
	"time"

	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"
)

// ErrUnsettled means that the action is not settled yet. Its operation goes on.
var ErrUnsettled = errors.New("external: not settled yet")

// How often the store is asked about an operation another process works on.
const (
	awaitFirst = 5 * time.Millisecond
	awaitMost  = 200 * time.Millisecond
)

// Await returns nil once all operations of the action with this ref are settled,
// and with them its record. It does not only wait: while [Runner.Run] is under way
// in this process, what is due is submitted at once, on behalf of the caller,
// unless the provider's places are taken, its breaker is open or the operation
// has a partition. The end of ctx or of d ends the waiting and nothing else:
// [ErrUnsettled], or the cause of ctx's end. [record.ErrNotFound]: no operation
// has this action. It is what refrainhttp.Guard.Await wants.
func (r *Runner[T]) Await(ctx context.Context, action string, d time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, d, ErrUnsettled)
	defer cancel()
	var looked operation.Operation // that could not be driven; until it changes it is not tried again
	for try := 0; ; try++ {
		all, err := r.store.Of(ctx, action)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return err
		case len(all) == 0:
			return record.ErrNotFound
		}
		next, waits := unsettled(all)
		if !waits {
			return nil
		}
		drives := next.Ref != looked.Ref || next.Version != looked.Version
		looked = next
		if !r.accompany(ctx, next, drives, record.Backoff(awaitFirst, awaitMost, try)) {
			return context.Cause(ctx)
		}
	}
}

// unsettled is the operation the action waits for.
func unsettled(all []operation.Operation) (operation.Operation, bool) {
	for _, o := range all {
		if !o.State.Final() {
			return o, true
		}
	}
	return operation.Operation{}, false
}

// accompany drives o, if it is to, or waits until it should be looked at again;
// false when ctx ended.
func (r *Runner[T]) accompany(ctx context.Context, o operation.Operation, drives bool, poll time.Duration) bool {
	flight := r.flight(o.Ref)
	if flight == nil && drives && r.drive(ctx, o) {
		flight = r.flight(o.Ref) // nil: over already
		poll = 0
	}
	if flight != nil {
		select {
		case <-flight:
			return true
		case <-ctx.Done():
			return false
		}
	}
	t := time.NewTimer(poll)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// flight is closed when this process is done with what it now does about ref; nil
// if it does nothing.
func (r *Runner[T]) flight(ref string) <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if f, under := r.flights[ref]; under {
		return f
	}
	return nil
}

// drive claims exactly this operation and begins the work on it, if it may be
// worked on now, and reports whether it did. Of a partition's order only Take
// knows. The claim does not end with ctx: what it opened would be taken for lost.
func (r *Runner[T]) drive(ctx context.Context, o operation.Operation) bool {
	l := r.lanes[o.Provider]
	if l == nil || o.Partition != "" || !l.enter(1) {
		return false
	}
	live, done := r.begin(o.Ref, false)
	if live == nil {
		l.free(1, 1)
		return false
	}
	claimed := make(chan bool, 1)
	go func() {
		p, c := r.claim(live.attempts, l, o.Ref)
		claimed <- p.job != 0
		if p.job == 0 {
			l.free(1, 1)
			done(true)
			return
		}
		r.carryOut(live, done, l, *p.edit.Put, p.job, c)
	}()
	select {
	case ok := <-claimed:
		return ok
	case <-ctx.Done():
		return false
	}
}

// claim is what Take is for many, for the one operation with this ref.
func (r *Runner[T]) claim(ctx context.Context, l *lane, ref string) (p plan, c clock) {
	submits := l.breaker.reserve(1)
	c.local = time.Now()
	err := r.store.Change(ctx, ref, func(_ context.Context, _ T, seen operation.Seen) (operation.Edit, error) {
		c.store = seen.Now
		if p = r.plan(l, seen, submits > 0); p.job == 0 {
			return operation.Edit{}, errNothing // for the runner's own look
		}
		return p.edit, nil
	})
	if err != nil {
		p.job = 0
	}
	if submits > 0 && p.job != submitting {
		l.breaker.spare()
	}
	return p, c
}
