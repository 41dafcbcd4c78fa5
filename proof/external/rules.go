package external

import (
	"time"

	"github.com/refrain-dev/refrain/operation"
)

// rules are the transitions under test; a planted fault replaces one.
type rules struct {
	next     func(o operation.Operation, t operation.Terms, now time.Time) operation.Move
	open     func(o operation.Operation, t operation.Terms, now time.Time, lease time.Duration) (operation.Operation, error)
	close    func(o operation.Operation, n int, r operation.Reply, now time.Time, p operation.Pace) operation.Operation
	abandon  func(o operation.Operation, now time.Time, p operation.Pace) operation.Operation
	extend   func(o operation.Operation, n int, now time.Time, lease time.Duration) (operation.Operation, error)
	asked    func(o operation.Operation, t operation.Terms, f operation.Finding, asked, now time.Time, p operation.Pace) operation.Operation
	decide   func(o operation.Operation, now time.Time, r operation.Reply) (operation.Operation, error)
	withdraw func(o operation.Operation, now time.Time, why string) (operation.Operation, error)
	resume   func(o operation.Operation, t operation.Terms, now time.Time) (operation.Operation, error)
	expire   func(o operation.Operation, now time.Time) operation.Operation

	// blind: the store writes without comparing versions.
	blind bool
	// gateless: nobody looks at the clock before the first byte.
	gateless bool
}

func sound() rules {
	return rules{
		next:     operation.Operation.Next,
		open:     operation.Operation.Open,
		close:    operation.Operation.Close,
		abandon:  operation.Operation.Abandon,
		extend:   operation.Operation.Extend,
		asked:    operation.Operation.Asked,
		decide:   operation.Operation.Decide,
		withdraw: operation.Operation.Withdraw,
		resume:   operation.Operation.Resume,
		expire:   operation.Operation.Expire,
	}
}
