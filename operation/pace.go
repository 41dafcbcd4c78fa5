package operation

import (
	"cmp"
	"time"

	"github.com/refrain-dev/refrain/record"
)

// Pace is how soon a machine looks again after a look that brought nothing: it
// doubles from First to Most, with jitter. After Budget looks in a row a person
// is asked; that changes when machines look, never what is known.
type Pace struct {
	First, Most time.Duration // 0 means 1 s and 1 h
	Budget      int           // 0 means no bound
}

// wait sets when a machine looks next.
func (o Operation) wait(now time.Time, atLeast time.Duration, pace Pace) Operation {
	o.Tries++
	if pace.Budget > 0 && o.Tries >= pace.Budget {
		o.Due = time.Time{}
		o.Why = "parked after as many tries as were budgeted: " + o.Why
		return o
	}
	first, most := cmp.Or(max(pace.First, 0), time.Second), cmp.Or(max(pace.Most, 0), time.Hour)
	o.Due = now.Add(max(atLeast, record.Backoff(first, most, o.Tries-1)))
	return o.inTime()
}

// Yield rests an operation that may be submitted but is [Seen.Behind] another of
// its partition. The store makes it due as soon as that one is settled or parked;
// else it looks again when that one is due, and no sooner than pace.First.
func (o Operation) Yield(behind, now time.Time, pace Pace) Operation {
	o.Due = now.Add(cmp.Or(max(pace.First, 0), time.Second))
	if behind.After(o.Due) {
		o.Due = behind
	}
	return o.inTime()
}

// inTime makes an accepted operation due early enough to expire in time.
func (o Operation) inTime() Operation {
	if o.State == record.Accepted {
		o.Due = earlier(o.Due, o.begin())
	}
	o.Due = record.Micro(o.Due)
	return o
}
