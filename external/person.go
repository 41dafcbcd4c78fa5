package external

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"
)

// By is who acts, and why. Both are required and become a line of audit.
type By struct {
	Who, Why string
}

// Case is an operation a person may want to look at.
type Case struct {
	Operation operation.Operation
	Age       time.Duration // since it was accepted
	Parked    bool          // no machine looks at it any more
}

// maxCases bounds how many operations Cases reads of each kind.
const maxCases = 1000

// Cases lists the disputed, unknown and parked operations of all providers in the
// store, oldest first: at most limit of each kind, cut to 1,000; 0 means 100.
// Parked ones that nothing was sent of are looked for among the 1,000 oldest that
// are not begun. Operation.Why says why one stands where it stands. They are
// [operation.Operation.Brief]. Beside those that can be read it returns an error
// about those that cannot, as List of [operation.Store] does.
func (r *Runner[T]) Cases(ctx context.Context, limit int) ([]Case, error) {
	limit = min(cmp.Or(max(limit, 0), 100), maxCases)
	var found []operation.Operation
	var unread error
	for _, like := range []operation.Operation{{Disputed: true}, {State: record.Unknown}, {State: record.Accepted}} {
		ask := limit
		if like.State == record.Accepted {
			ask = maxCases // those that only wait must not hide a parked one
		}
		some, err := r.store.List(ctx, like, ask)
		if isPartial(err) {
			unread = errors.Join(unread, err)
		} else if err != nil {
			return nil, err
		}
		some = slices.DeleteFunc(some, func(o operation.Operation) bool {
			return like.State == record.Accepted && !o.Due.IsZero() || !like.Disputed && o.Disputed
		})
		found = append(found, some[:min(limit, len(some))]...)
	}
	if len(found) == 0 {
		return nil, unread
	}
	_, now, err := r.store.Load(ctx, found[0].Ref)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(found, func(a, b operation.Operation) int { return a.Created.Compare(b.Created) })
	cases := make([]Case, len(found))
	for i, o := range found {
		cases[i] = Case{o, now.Sub(o.Created), o.Due.IsZero()}
	}
	return cases, unread
}

// isPartial reports an error of a list beside which the rest of it stands.
func isPartial(err error) bool {
	return errors.Is(err, record.RecordUnreadable) || errors.Is(err, record.ErrNewerFormat)
}

// Decide settles an operation by a person's word where machines cannot know the
// outcome, or where two answers contradict each other: reply.End is
// [operation.Confirmed] or [operation.Refused]. Step.Settle renders the answer
// that the action's record keeps from then on.
func (r *Runner[T]) Decide(ctx context.Context, by By, ref string, reply operation.Reply) error {
	if reply.Note == "" {
		reply.Note = by.Why
	}
	return r.act(ctx, by, ref, "decide", func(seen operation.Seen) (operation.Operation, error) {
		return seen.Operation.Decide(seen.Now, reply)
	})
}

// Withdraw rejects an operation of which nothing was sent.
func (r *Runner[T]) Withdraw(ctx context.Context, by By, ref string) error {
	return r.act(ctx, by, ref, "withdraw", func(seen operation.Seen) (operation.Operation, error) {
		return seen.Operation.Withdraw(seen.Now, by.Why)
	})
}

// Resume makes a parked operation due at once. It is refused where a machine could
// do nothing about it.
func (r *Runner[T]) Resume(ctx context.Context, by By, ref string) error {
	return r.act(ctx, by, ref, "resume", func(seen operation.Seen) (operation.Operation, error) {
		l := r.lanes[seen.Operation.Provider]
		if l == nil {
			return seen.Operation, fmt.Errorf("external: this runner does not know the provider %q", seen.Operation.Provider)
		}
		return seen.Operation.Resume(l.terms, seen.Now)
	})
}

func (r *Runner[T]) act(ctx context.Context, by By, ref, action string, next func(operation.Seen) (operation.Operation, error)) error {
	if by.Who == "" || by.Why == "" {
		return errors.New("external: a person's act needs a name and a reason")
	}
	line := operation.Edit{By: by.Who, Action: action, Reason: by.Why}
	_, err := r.audited(ctx, ref, &line, func(seen operation.Seen) (operation.Operation, error) {
		o, err := next(seen)
		line.Detail = fmt.Sprintf("operation %s, step %s: %s to %s", o.Ref, o.Step, seen.Operation.State, o.State)
		return o, err
	})
	return err
}
