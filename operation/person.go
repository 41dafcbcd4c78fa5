package operation

import (
	"errors"
	"fmt"
	"time"

	"github.com/refrain-dev/refrain/record"
)

// Leave rests an unknown operation until a person decides, and says what about.
func (o Operation) Leave(reason error) Operation {
	if o.State != record.Unknown {
		return o
	}
	o.Due, o.Why = time.Time{}, "a person must decide: "+reason.Error()
	return o
}

// Expire withdraws an accepted operation that was not begun within its time.
// Nothing was sent.
func (o Operation) Expire(now time.Time) Operation {
	if o.State != record.Accepted || !o.late(now) {
		return o
	}
	return o.settle(record.Rejected, Reply{End: NotSent, Note: ErrTooLate.Error()}.received(now))
}

// Withdraw rejects an operation before anything left, as a person asks.
func (o Operation) Withdraw(now time.Time, why string) (Operation, error) {
	if o.State != record.Accepted {
		return o, fmt.Errorf("operation: %s is %s: only an accepted one can be withdrawn", o.Ref, o.State)
	}
	return o.settle(record.Rejected, Reply{End: NotSent, Note: why}.received(now)), nil
}

// Decide is a person's word about an outcome machines cannot know, or about two
// that contradict each other. What it overrules stays as evidence. A live
// attempt is left alone.
func (o Operation) Decide(now time.Time, r Reply) (Operation, error) {
	switch {
	case r.End != Confirmed && r.End != Refused:
		return o, errors.New("operation: a decision confirms or refuses")
	case o.State.Final() && !o.Disputed:
		return o, fmt.Errorf("operation: %s is %s already", o.Ref, o.State)
	case o.State == record.Submitted && now.Before(o.Lease):
		return o, fmt.Errorf("operation: %s: %w until %s", o.Ref, ErrUnderWay, o.Lease.Format(time.RFC3339))
	case o.State == record.Accepted:
		return o, fmt.Errorf("operation: nothing of %s was sent: withdraw it", o.Ref)
	}
	overruled := o.Answer
	state := record.Confirmed
	if r.End == Refused {
		state = record.Rejected
	}
	o.Disputed = false
	o = o.settle(state, r.received(now))
	if overruled != nil {
		o = o.keep(*overruled)
	}
	return o, nil
}

// Resume makes a parked or waiting operation due at once, if a machine may ask
// or submit; else it returns what [Operation.Safe] says.
func (o Operation) Resume(t Terms, now time.Time) (Operation, error) {
	if err := o.Safe(t, now); err != nil && (o.State != record.Unknown || !t.Queries) {
		return o, err
	}
	o.Due, o.Tries, o.Why = record.Micro(now), 0, ""
	return o, nil
}
