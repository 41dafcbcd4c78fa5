package refrain

import (
	"context"
	"time"

	"github.com/refrain-dev/refrain/record"
)

// Observer is told every decision. It is called on the caller's goroutine, must
// be safe for concurrent use and must not block.
type Observer interface {
	Observe(ctx context.Context, e Event)
}

// Event is one decision. It carries no key, no payload and no scope.
type Event struct {
	Operation string
	Row       string         // row of the decision table
	Problem   record.Problem // "" when a result was given
	Replayed  bool
	Ref       string
	Took      time.Duration
	Err       error // the cause behind the problem
}
