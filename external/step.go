package external

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"
)

// Step is one kind of external effect: who performs it, what that takes, and what
// its outcome means. Name and Provider are required, and so is Settle where an
// action waits for it.
type Step[T any] struct {
	// Name is unique within a runner and stable: operations in the store name it.
	// 1 to 64 bytes of UTF-8 without a NUL.
	Name string
	// Provider is a name in Options.Providers.
	Provider string
	// Needs are checked against the provider's terms at start.
	Needs Needs
	// Within bounds how long after it was accepted a first attempt may begin;
	// past it the operation is rejected and nothing was sent. 0 means no bound.
	Within time.Duration
	// Pace is how soon a look that brought nothing is repeated.
	Pace operation.Pace
	// Settle takes the outcome: it writes business rows with tx and renders the
	// answer the action's record keeps, all in the transaction that makes the
	// outcome final. The result's Effect is the provider's reference unless it sets
	// another one, and whether the record is confirmed or rejected is the
	// outcome's alone. It may accept the action's next step with ctx and tx: then
	// the action goes on and the answer is dropped. It runs again after an error,
	// so it does nothing but database work, and an error of it leaves everything
	// as it was. It may be nil where no action waits.
	Settle func(ctx context.Context, tx T, s Settled) (record.Result, error)

	bind func(*Runner[T])
}

// Needs is what a step needs of its provider. The zero value takes any provider
// but one that delivers at least once.
type Needs struct {
	// Dedupes: a repeated key does not act again, DedupesFor at least so long.
	Dedupes    bool
	DedupesFor time.Duration
	// Queries: the provider can be asked what became of a submission.
	Queries bool
	// AtLeastOnce: acting twice is within what the receiver expects.
	AtLeastOnce bool
}

// Settled is an operation whose outcome became final.
type Settled struct {
	Operation operation.Operation
	Confirmed bool            // else it was rejected: provably not performed, or a person's word
	Reply     operation.Reply // what settled it
	Now       time.Time       // the store's
	// Corrects: it was settled before, and a person has overruled that.
	Corrects bool
	// Decided: a person has decided about the action's record itself; it stands,
	// and what Settle renders is dropped.
	Decided bool
}

// check names what is wrong with a step.
func (s *Step[T]) check(terms operation.Terms) error {
	switch {
	case !isName(s.Name):
		return fmt.Errorf("external: Step.Name is text of 1 to %d bytes", operation.MaxName)
	case s.Within < 0 || s.Pace.First < 0 || s.Pace.Most < 0 || s.Pace.Budget < 0:
		return fmt.Errorf("external: step %q: a negative bound", s.Name)
	}
	if err := s.Needs.metBy(terms); err != nil {
		return fmt.Errorf("external: step %q and provider %q: %w", s.Name, s.Provider, err)
	}
	return nil
}

// metBy reports the first need that t does not meet.
func (n Needs) metBy(t operation.Terms) error {
	switch {
	case n.DedupesFor < 0:
		return errors.New("a negative DedupesFor")
	case t.AtLeastOnce && !n.AtLeastOnce:
		return errors.New("the provider may act twice, and Needs.AtLeastOnce does not say that this is enough")
	case (n.Dedupes || n.DedupesFor > 0) && !t.Dedupes:
		return errors.New("the provider does not recognise a repeated key")
	case t.DedupesFor > 0 && t.DedupesFor < n.DedupesFor:
		return fmt.Errorf("the provider recognises a repeated key for %v, %v are needed", t.DedupesFor, n.DedupesFor)
	case n.Queries && !t.Queries:
		return errors.New("the provider cannot be asked")
	}
	return nil
}
