package external

import (
	"context"
	"fmt"
	"time"

	"github.com/refrain-dev/refrain/operation"
)

// ask asks the provider what became of an unknown operation and writes what it
// says. The question counts as sent at the store's time when it was claimed,
// which is before it left.
func (r *Runner[T]) ask(live *lives, l *lane, o operation.Operation, c clock) bool {
	ctx, cancel := context.WithTimeout(live.attempts, min(r.options.MaxAttempt, r.options.Lease))
	defer cancel()
	begun := time.Now()
	finding, err, panicked := l.question(ctx, o)
	took := time.Since(begun)
	l.called(1)
	if panicked != nil {
		r.observe(ctx, o, Event{Kind: Panicked, Err: panicked})
	}
	r.observe(ctx, o, Event{Kind: Asked, Took: took, Err: err})
	pace := r.steps[o.Step].Pace
	written := false
	return r.persist(live.writes, o, func() error {
		_, failed := r.change(live.writes, o.Ref, func(seen operation.Seen) (operation.Operation, error) {
			was := seen.Operation
			if was.Version > o.Version && written {
				return was, errNothing
			}
			written = true
			if err != nil {
				return was.Unanswered(err.Error(), seen.Now, pace), nil
			}
			return adopted(seen).Asked(l.terms, finding, c.store, seen.Now, pace), nil
		})
		return failed
	})
}

// question calls the provider; a panic of it is no answer. Its text may say
// anything, so it is told apart from err, which is kept.
func (l *lane) question(ctx context.Context, o operation.Operation) (finding operation.Finding, err, panicked error) {
	querier, asks := l.provider.(Querier)
	if !asks {
		return finding, fmt.Errorf("external: provider %q cannot be asked", l.name), nil
	}
	_, panicked = contained(func() operation.Reply {
		err = fmt.Errorf("external: provider %q ended without an answer", l.name)
		finding, err = querier.Query(ctx, Submission{
			Ref: o.Ref, Step: o.Step, Key: o.Key, Input: o.Input, Attempt: len(o.Attempts), Repeats: true, Accepted: o.Created,
		})
		return operation.Reply{}
	})
	return finding, err, panicked
}
