package external

import (
	"context"
	"time"

	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"
)

// Observer is told what a [Runner] does. It is called on the goroutine that does
// it, must be safe for concurrent use and must not block.
type Observer interface {
	Observe(ctx context.Context, e Event)
}

// Event is something that happened. It carries no key and no payload, unless an
// error or a panic of a provider or of Step.Settle says one: that is in Err.
type Event struct {
	Kind     Kind
	Provider string // of Unserved: one that this runner does not have
	Step     string
	Ref      string // of the operation, "" where a provider as a whole is meant
	Attempt  int    // of Opened, Closed, LeaseLost
	State    record.State
	End      operation.End // of Closed
	Took     time.Duration // of Closed and Asked: the provider's answer
	Why      string        // of Parked, Disputed and Unserved
	Err      error         // of Failed, Asked and LeaseLost
}

// Kind says what happened.
type Kind string

// The kinds of events. Unserved, Disputed, Parked, Failed and Panicked are for alerts.
const (
	Unserved      Kind = "unserved" // at the start operations are due of a provider that another runner has, or none
	Accepted      Kind = "accepted" // in a transaction that may still be rolled back
	Opened        Kind = "opened"   // an attempt is durable, and nothing has left
	Closed        Kind = "closed"   // an attempt's reply is written
	Asked         Kind = "asked"    // the provider was asked
	Final         Kind = "settled"  // an outcome became final
	Disputed      Kind = "disputed" // two answers contradict each other
	Parked        Kind = "parked"   // machines leave it until a person acts
	LeaseLost     Kind = "lease-lost"
	BreakerOpened Kind = "breaker-opened"
	BreakerClosed Kind = "breaker-closed"
	Failed        Kind = "failed"   // the store, Step.Settle or a step this runner does not have; it is tried again
	Panicked      Kind = "panicked" // a provider; the attempt's outcome is unknown
)

// observe tells e about o.
func (r *Runner[T]) observe(ctx context.Context, o operation.Operation, e Event) {
	if r.options.Observer == nil {
		return
	}
	e.Provider, e.Step, e.Ref, e.State = o.Provider, o.Step, o.Ref, o.State
	r.options.Observer.Observe(ctx, e)
}
