package operation

import (
	"time"

	"github.com/refrain-dev/refrain/record"
)

// Doubtful reports whether a store that may have lost what happened until lost has
// forgotten an attempt: the operation was there by then, is not settled, and
// [Operation.Doubt] has not said so yet. What is under way is no question before
// its attempt has ended.
func (o Operation) Doubtful(lost time.Time) bool {
	return !o.State.Final() && o.State != record.Submitted && !o.Created.After(lost) && o.Dropped.NotAfter.Before(lost)
}

// Doubt counts an attempt that may have left until lost, though nobody knows of one:
// the operation is unknown, and due, and the provider's window began when it was
// accepted, if nothing else is known.
func (o Operation) Doubt(lost, now time.Time) Operation {
	if !o.Doubtful(lost) {
		return o
	}
	if o.open(0) == 0 {
		o.First = o.Created
	}
	o.Dropped.MayHaveLeft++
	o.Dropped.NotAfter = record.Micro(lost)
	o.State, o.NotFound, o.Tries = record.Unknown, time.Time{}, 0
	o.Due, o.Why = record.Micro(now), "it was accepted before what was lost with a restore, and may have been submitted then"
	return o
}
