package upkeep

import (
	"context"

	"github.com/refrain-dev/refrain/record"
)

// Retention is what a database offers those who keep its memory in order: what is
// forgotten, what may have been lost, and what must never be.
//
// Whatever takes a name and a reason writes a line of audit with its change, and
// returns [ErrUnsigned] without them.
type Retention interface {
	// Reap looks at one batch of records, takes the results of those whose replay
	// has ended and forgets those whose memory has, in one transaction that raises
	// the horizons first. Unfinished, unknown and disputed records are left alone,
	// and so is a record with an external operation that is. Several may run at
	// once. A batch costs what it looks at, however many records there are.
	Reap(ctx context.Context, r Reap) (Reaped, error)
	// Spans returns how far reapers have come, in order.
	Spans(ctx context.Context) ([]Span, error)
	// Walk returns up to limit records behind the given ref, in the order of refs,
	// with their results; "" is the beginning. limit is cut to 1,000.
	Walk(ctx context.Context, after string, limit int) (Walked, error)

	// Fences returns every fence, oldest first.
	Fences(ctx context.Context) ([]Fence, error)
	// SetFence stores a fence, at the store's time, and returns its id, or what
	// [Fence.Check] says then.
	SetFence(ctx context.Context, f Fence) (int64, error)
	// EndFence ends the handling of keys without a time; those with one stay
	// refused. [record.ErrNotFound]: there is none that stands.
	EndFence(ctx context.Context, id int64, by, reason string) error
	// VoidFence removes a fence that was a mistake, or returns [record.ErrNotFound].
	VoidFence(ctx context.Context, id int64, by, reason string) error
	// Reviews returns the refused late retries, in the order of their ids.
	Reviews(ctx context.Context, q ReviewQuery) ([]Review, error)

	// Incarnation reads which store this is.
	Incarnation(ctx context.Context) (Incarnation, error)
	// Advance raises the counter and returns the incarnation as committed.
	Advance(ctx context.Context) (Incarnation, error)

	// Onces returns the values that a rule holds.
	Onces(ctx context.Context, q OnceQuery) ([]Once, error)
	// RemoveOnce gives a value of a rule free, or returns [record.ErrNotFound]. The
	// line of audit names the rule and not the value.
	RemoveOnce(ctx context.Context, rule, value, by, reason string) error
}

// Walked is a part of the records.
type Walked struct {
	Records []record.Record
	// Unreadable are the refs of those that cannot be read, and why.
	Unreadable map[string]error
	// Next is where to go on; "" at the end.
	Next string
}
