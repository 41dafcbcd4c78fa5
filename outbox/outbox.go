package outbox

import (
	"context"
	"time"

	"github.com/refrain-dev/refrain/external"
	"github.com/refrain-dev/refrain/operation"
)

// Pace is how deliveries are repeated unless a step says otherwise: after 5
// seconds, doubling to 10 hours, with jitter; after 20 attempts, about four days,
// the message is parked.
var Pace = operation.Pace{First: 5 * time.Second, Most: 10 * time.Hour, Budget: 20}

// Step is the step by which an [external.Runner] delivers to the sink that its
// Options.Providers know by this name; see [Provider]. Its Pace may be changed
// before the runner is made.
func Step[T any](sink string) external.Step[T] {
	return external.Step[T]{Name: sink, Provider: sink, Needs: external.Needs{AtLeastOnce: true}, Pace: Pace}
}

// Outbox publishes messages to one sink.
type Outbox[T any] struct {
	runner *external.Runner[T]
	sink   string
}

// To is the outbox of the sink with that name, for which runner has a [Step].
func To[T any](runner *external.Runner[T], sink string) Outbox[T] { return Outbox[T]{runner, sink} }

// Publish writes the message in the transaction tx: it is delivered if that
// commits, however late, and gone if not. The ref it returns names the delivery
// to operators and, where Message.ID is empty, makes the message's id. An invalid
// message is refused and nothing is written.
func (o Outbox[T]) Publish(ctx context.Context, tx T, m Message) (ref string, err error) {
	if err := m.Validate(); err != nil {
		return "", err
	}
	input, err := seal(m)
	if err != nil {
		return "", err
	}
	accepted, err := o.runner.Accept(ctx, tx, external.Intent{Step: o.sink, Input: input, Partition: m.Partition, Detached: true})
	return accepted.Ref, err
}
