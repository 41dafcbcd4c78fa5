package outbox

import (
	"context"
	"errors"
	"time"

	"github.com/refrain-dev/refrain/external"
	"github.com/refrain-dev/refrain/operation"
)

// Sink takes deliveries. nil means that the message was taken over. After any
// other error it is delivered again later, unless the error is [ErrPark]: then it
// is parked until a person looks. Deliver may be called by several goroutines.
type Sink interface {
	Deliver(ctx context.Context, d Delivery) error
}

// Func is a function as a [Sink].
type Func func(ctx context.Context, d Delivery) error

// Deliver implements [Sink].
func (f Func) Deliver(ctx context.Context, d Delivery) error { return f(ctx, d) }

// Delivery is one attempt to deliver a message.
type Delivery struct {
	Message
	Attempt  int       // 1, 2, 3, …
	Accepted time.Time // when the message was published, by the store's clock
}

// ErrPark marks an error after which delivering again is no use.
var ErrPark = errors.New("outbox: parked")

// RetryAfter is the error of a sink that knows when it will take deliveries again.
type RetryAfter struct {
	Err   error
	After time.Duration
}

func (e *RetryAfter) Error() string { return e.Err.Error() }
func (e *RetryAfter) Unwrap() error { return e.Err }

// Provider makes a sink what an [external.Runner] delivers to: a provider whose
// receiver expects that a message may come more than once.
func Provider(s Sink) external.Provider { return provider{s} }

type provider struct{ sink Sink }

func (provider) Terms() operation.Terms { return operation.Terms{AtLeastOnce: true} }

func (p provider) Submit(ctx context.Context, s external.Submission) operation.Reply {
	m, err := unseal(s.Input, s.Ref)
	if err != nil {
		return operation.Reply{End: operation.NotSent, Note: err.Error(), Park: true}
	}
	if s.Gate != nil {
		if err := s.Gate(); err != nil {
			return operation.Reply{End: operation.NotSent, Note: err.Error()}
		}
	}
	err = p.sink.Deliver(ctx, Delivery{Message: m, Attempt: s.Attempt, Accepted: s.Accepted})
	if err == nil {
		return operation.Reply{End: operation.Confirmed, Reference: m.ID}
	}
	reply := operation.Reply{End: operation.Lost, Note: err.Error(), Park: errors.Is(err, ErrPark)}
	if later, ok := errors.AsType[*RetryAfter](err); ok {
		reply.RetryAfter = later.After
	}
	return reply
}
