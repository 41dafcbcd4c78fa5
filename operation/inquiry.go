package operation

import (
	"time"

	"github.com/refrain-dev/refrain/record"
)

// Inquire reserves an unknown operation for one who asks the provider about it:
// until lease is over nobody else does. The state stays.
func (o Operation) Inquire(now time.Time, lease time.Duration) Operation {
	if o.State != record.Unknown {
		return o
	}
	o.Due = record.Micro(now.Add(lease))
	return o
}

// Finding is what a provider said when it was asked about a key.
type Finding struct {
	// Found: Reply says what became of it. Without Found the provider knows
	// nothing of the key.
	Found bool
	// Pending: found, and not decided yet.
	Pending bool
	Reply   Reply
}

// Asked takes what the provider said at now to a question that was sent at
// asked, both the store's time. A confirmation settles, always. So does a refusal
// of an unknown operation. Not found is remembered: the operation is due at once
// where that makes another submission safe, else a machine asks again, at a
// growing pace. An answer to a question that was sent before the newest attempt
// had ended proves nothing about that one: a refusal is then evidence, unless it
// is the provider's stored answer.
func (o Operation) Asked(t Terms, f Finding, asked, now time.Time, pace Pace) Operation {
	r := f.Reply.received(now)
	last := o.last()
	fresh := o.State == record.Unknown && (last == nil || !asked.Before(last.Ended))
	switch {
	case f.Found && !f.Pending && r.End == Confirmed:
		return o.confirmed(r)
	case f.Found && !f.Pending && r.End == Refused:
		if fresh || o.State == record.Unknown && r.Stored {
			return o.settle(record.Rejected, r)
		}
		return o.keep(r)
	case !fresh:
		return o
	case f.Found:
		o.NotFound, o.Why = time.Time{}, "the provider has not decided yet"
		return o.wait(r.At, r.RetryAfter, pace)
	}
	o.NotFound = record.Micro(asked)
	if reason := o.Safe(t, now); reason != nil {
		o.Why = "the provider does not know the key; " + reason.Error()
		return o.wait(r.At, r.RetryAfter, pace)
	}
	o.Due, o.Why = r.At, "the provider does not know the key; another submission is safe"
	return o
}

// Unanswered notes that asking brought no answer.
func (o Operation) Unanswered(note string, now time.Time, pace Pace) Operation {
	if o.State != record.Unknown {
		return o
	}
	o.Why = "asking brought no answer: " + cut(note)
	return o.wait(now, 0, pace)
}
