package operation

import (
	"slices"
	"time"

	"github.com/refrain-dev/refrain/record"
)

// Open begins an attempt under a lease, if that is [Operation.Safe] at now. What
// it returns must be durable before the first byte leaves, and its first byte may
// not leave at or after the attempt's NotAfter.
func (o Operation) Open(t Terms, now time.Time, lease time.Duration) (Operation, error) {
	if err := o.Safe(t, now); err != nil {
		return o, err
	}
	now = record.Micro(now)
	o.Attempts = slices.Clone(o.Attempts)
	if o.open(0) > 0 && o.disproven(t) {
		for i := range o.Attempts {
			if o.Attempts[i].mayHaveLeft() {
				o.Attempts[i].End = Void
			}
		}
		o.Dropped.MayHaveLeft = 0
	}
	if o.open(0) == 0 {
		o.First = now
	}
	end := now.Add(lease)
	a := Attempt{N: 1, Opened: now, NotAfter: earlier(end, t.until(o.First))}
	if last := o.last(); last != nil {
		a.N = last.N + 1
	}
	if o.State == record.Accepted {
		a.NotAfter = earlier(a.NotAfter, o.begin())
	}
	a.NotAfter = record.Micro(a.NotAfter)
	o.Attempts = append(o.Attempts, a)
	o = o.trim()
	o.State, o.NotFound, o.Why = record.Submitted, time.Time{}, ""
	o.Lease = record.Micro(end)
	o.Due = o.Lease
	return o, nil
}

// trim keeps the attempts within bounds. One that was provably not sent tells
// least; the first one and the newest tell most. One that may have left goes on
// to count.
func (o Operation) trim() Operation {
	if len(o.Attempts) <= MaxAttempts {
		return o
	}
	drop := slices.IndexFunc(o.Attempts, func(a Attempt) bool { return a.End == NotSent })
	if drop < 0 {
		drop = 1
	}
	if a := o.Attempts[drop]; a.mayHaveLeft() {
		o.Dropped.MayHaveLeft++
		if a.NotAfter.After(o.Dropped.NotAfter) {
			o.Dropped.NotAfter = a.NotAfter
		}
	}
	o.Attempts = slices.Delete(o.Attempts, drop, drop+1)
	return o
}

func (o Operation) last() *Attempt {
	if len(o.Attempts) == 0 {
		return nil
	}
	return &o.Attempts[len(o.Attempts)-1]
}

// Extend moves the lease of attempt n, or says with [record.ErrLeaseLost] that
// its worker must stop. The attempt's NotAfter stays: a first byte that has
// waited so long is not sent.
func (o Operation) Extend(n int, now time.Time, lease time.Duration) (Operation, error) {
	last := o.last()
	if o.State != record.Submitted || last == nil || last.N != n {
		return o, record.ErrLeaseLost
	}
	o.Lease = record.Micro(now.Add(lease))
	o.Due = o.Lease
	return o, nil
}

// Abandon ends the attempt whose lease is past with an unknown outcome.
func (o Operation) Abandon(now time.Time, pace Pace) Operation {
	last := o.last()
	if o.State != record.Submitted || last == nil || now.Before(o.Lease) {
		return o
	}
	return o.Close(last.N, Reply{End: Lost, Note: "its worker did not come back"}, now, pace)
}

func (a Attempt) mayHaveLeft() bool { return a.End == Open || a.End == Lost }

// open counts the attempts that may have left and are not answered, other than
// attempt n.
func (o Operation) open(n int) int {
	count := o.Dropped.MayHaveLeft
	for _, a := range o.Attempts {
		if a.N != n && a.mayHaveLeft() {
			count++
		}
	}
	return count
}

// earlier is the earlier of two instants, of which b counts only if it is set.
func earlier(a, b time.Time) time.Time {
	if !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
