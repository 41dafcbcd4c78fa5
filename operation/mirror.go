package operation

import (
	"time"

	"github.com/refrain-dev/refrain/record"
)

// Mirror returns rec, the record that waits, as it stands by what is known of
// the operation, and whether that changes it: repeats are answered from the
// record. A final state needs a result and is the settling transaction's; what a
// person decided about the record is not overruled, but a dispute is told.
func (o Operation) Mirror(rec record.Record) (record.Record, bool) {
	was := rec
	switch {
	case o.Disputed:
		rec.Disputed = true
	case rec.State.Final() || o.State.Final():
	default:
		rec.State, rec.Lease = o.State, time.Time{}
		if o.State == record.Submitted {
			rec.Lease = o.Lease
		}
	}
	return rec, rec.State != was.State || rec.Disputed != was.Disputed || !rec.Lease.Equal(was.Lease)
}

// Adopt ends an operation whose record a person has decided about meanwhile.
func (o Operation) Adopt(rec record.Record) Operation {
	if o.State.Final() || !rec.State.Final() {
		return o
	}
	end := Confirmed
	if rec.State == record.Rejected {
		end = Refused
	}
	return o.settle(rec.State, Reply{End: end, Reference: rec.Result.Effect, Note: "decided about the action's record"}.received(rec.Final))
}
