package operation

import (
	"slices"
	"time"

	"github.com/refrain-dev/refrain/record"
)

// Close takes the reply of attempt n, whenever it comes. A confirmation settles
// whatever is not final. A refusal settles only if no other attempt may have
// left, or if it is the stored answer of the first; else it is evidence, which
// settles once every other attempt proves not to have left. What contradicts a
// final state is kept and disputed. Asked again with the same reply it changes
// nothing. An End that is none of Reply's counts as Lost.
func (o Operation) Close(n int, r Reply, now time.Time, pace Pace) Operation {
	r = r.received(now)
	if r.End != NotSent && r.End != Refused && r.End != Confirmed {
		r.End = Lost
	}
	last := o.last()
	current := o.State == record.Submitted && last != nil && last.N == n
	o = o.end(n, r)
	switch r.End {
	case Confirmed:
		return o.confirmed(r)
	case Refused:
		if !o.State.Final() && (o.open(n) == 0 || r.Stored) {
			return o.settle(record.Rejected, r)
		}
		o = o.keep(r)
	}
	if !current && (o.State != record.Unknown || o.open(0) > 0) {
		return o
	}
	if o = o.stand(r); o.State.Final() {
		return o
	}
	o.Lease = time.Time{}
	if !current {
		o.Tries = 0 // what a machine may do has changed
	}
	o = o.wait(r.At, r.RetryAfter, pace)
	if r.Park {
		o.Due, o.Why = time.Time{}, "parked: "+r.Note
	}
	return o
}

// end notes how attempt n ended. The first word about it stands, but for one
// that tells more than that it may have left, and a confirmation.
func (o Operation) end(n int, r Reply) Operation {
	i := slices.IndexFunc(o.Attempts, func(a Attempt) bool { return a.N == n })
	if i < 0 {
		return o
	}
	switch a := o.Attempts[i]; {
	case a.End == r.End:
		return o
	case a.mayHaveLeft() || r.End == Confirmed:
		o.Attempts = slices.Clone(o.Attempts)
		o.Attempts[i].End, o.Attempts[i].Ended, o.Attempts[i].Note = r.End, r.At, r.Note
	}
	return o
}

// stand is where an operation stands without an open attempt: unknown while one
// may have left; else rejected if the provider refused one, and accepted if
// provably none reached it.
func (o Operation) stand(r Reply) Operation {
	if o.open(0) > 0 {
		o.State, o.Why = record.Unknown, r.Note
		return o
	}
	for _, e := range slices.Backward(o.Evidence) {
		if e.End == Refused {
			o = o.settle(record.Rejected, e)
			o.Final = r.At
			return o
		}
	}
	o.State, o.Why = record.Accepted, r.Note
	return o
}

// settle makes an operation final by r, at the time of r.
func (o Operation) settle(state record.State, r Reply) Operation {
	o.State, o.Answer, o.Final, o.Why = state, &r, r.At, r.Note
	o.Due, o.Lease, o.Tries = time.Time{}, time.Time{}, 0
	return o
}
