package record

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// ErrLeaseLost means that another attempt was opened, or that somebody has
// already found the lease past; the owner must stop.
var ErrLeaseLost = errors.New("refrain: the lease is lost")

// CheckIdentity refuses to act on an operation whose identities are made of
// something else than this binary thinks.
func (c *Claim) CheckIdentity(seen Seen) error {
	if seen.IdentityVersion == "" || seen.IdentityVersion == c.IdentityVersion {
		return nil
	}
	return &Error{Problem: ContractChanged, Row: "9", RetryAfter: time.Second,
		Err: fmt.Errorf("the store keeps %q by %s, this contract by %s", c.Identity.Operation, seen.IdentityVersion, c.IdentityVersion)}
}

// Open decides a claim that is committed before its effect begins, for handlers
// that commit for themselves: what to write, and the record the caller may act
// on (fresh) or answer with. A refusal may come with something to write: the
// reader of a lease that is past marks the outcome unknown.
func (c *Claim) Open(seen Seen, now time.Time) (edit Edit, rec *Record, fresh bool, refusal error) {
	if err := c.CheckIdentity(seen); err != nil {
		return Edit{}, nil, false, err
	}
	d := Decide(c.Policy, seen, c.Request, now)
	if d.LeasePast { // the answer tells what is written, not what was seen
		edit.Put = seen.Record.abandoned()
		seen.Record = edit.Put
	}
	switch d.Action {
	case Execute:
		rec = c.Begin(now)
		if d.Reopens {
			rec = seen.Record.reopened(now)
		}
		rec.Lease = Micro(now.Add(c.Policy.Lease))
		return Edit{Put: rec, Register: c, SpendAllow: d.SpendsAllow}, rec, true, nil
	case Replay, Current:
		return edit, seen.Record, false, nil
	}
	return edit, nil, false, Refusal(d, seen, c, now)
}

// reopened is the record with one more attempt. Its fence is greater than the
// earlier ones whatever the clock did.
func (r *Record) reopened(now time.Time) *Record {
	next := *r
	next.State = Submitted
	next.Attempt++
	next.Fence = max(now.UnixMicro(), r.Fence+1)
	return &next
}

// abandoned is the record whose lease ended without an answer.
func (r *Record) abandoned() *Record {
	next := *r
	next.State = Unknown
	next.Lease = time.Time{}
	return &next
}

// Expire marks the outcome unknown where the lease is past; it is what a reader
// writes.
func Expire(seen Seen, now time.Time) Edit {
	if rec := seen.Record; rec != nil && rec.State == Submitted && !now.Before(rec.Lease) {
		return Edit{Put: rec.abandoned()}
	}
	return Edit{}
}

// Extend moves the lease of r, the owner's copy, or says that it is lost.
func (r *Record) Extend(seen Seen, now time.Time, lease time.Duration) (Edit, error) {
	if !r.open(seen.Record) || seen.Record.State != Submitted {
		return Edit{}, ErrLeaseLost
	}
	next := *seen.Record
	next.Lease = Micro(now.Add(lease))
	return Edit{Put: &next}, nil
}

// open reports whether current is still r's attempt, without a final state.
func (r *Record) open(current *Record) bool {
	return current != nil && current.Ref == r.Ref && current.Attempt == r.Attempt && !current.State.Final()
}

// Release frees the identity: the attempt provably did not begin. An earlier
// attempt may have; its outcome stays unknown. A key older than the horizon gets
// an allow, or its retry would be taken for a late one.
func (r *Record) Release(seen Seen, p Policy) (Edit, error) {
	switch {
	case !r.open(seen.Record):
		return Edit{}, ErrLeaseLost
	case r.Attempt > 1:
		return Edit{Put: seen.Record.abandoned()}, nil
	}
	edit := Edit{Remove: true}
	seen.Record = nil
	born, timed := p.KeyTime.Birth(r.Identity.Key)
	if lateRetry(p, seen, born, timed) || !timed && p.KeyTime == Required { // its claim may have spent one
		edit.GrantAllow = "released before it began"
	}
	return edit, nil
}

// Lost ends the attempt of r with an unknown outcome.
func (r *Record) Lost(seen Seen) (Edit, error) {
	if !r.open(seen.Record) {
		return Edit{}, ErrLeaseLost
	}
	return Edit{Put: seen.Record.abandoned()}, nil
}

// Complete ends the attempt of r with a result. An owner whose lease ran out
// still settles while no other attempt was opened. After that its answer is
// evidence: kept, and a contradiction with the other answer is disputed, in
// whatever order the two come. Repeating a completion changes nothing.
func (r *Record) Complete(seen Seen, now time.Time, result Result, p Policy) (edit Edit, settled *Record, err error) {
	current := seen.Record
	if current == nil || current.Ref != r.Ref {
		return Edit{}, nil, ErrLeaseLost
	}
	next := *current
	switch {
	case r.open(current):
		next.Settle(result, now, p)
		next.Lease = time.Time{}
		next.Disputed = slices.ContainsFunc(next.Evidence, result.contradicts)
	case current.heard(result): // a person may have decided about it already
		return Edit{}, current, nil
	default:
		next.Evidence = append(slices.Clip(next.Evidence), result)
		next.Disputed = next.State.Final() // else the newer attempt settles
	}
	return Edit{Put: &next}, &next, nil
}

// heard reports whether r has an answer that agrees with result.
func (r *Record) heard(result Result) bool {
	return r.State.Final() && !result.contradicts(r.Result) ||
		slices.ContainsFunc(r.Evidence, func(e Result) bool { return !result.contradicts(e) })
}

// contradicts reports whether two answers cannot both be true: one refused, one
// not, or two effects with different references.
func (r Result) contradicts(other Result) bool {
	return r.Rejected != other.Rejected || !r.Rejected && r.Effect != other.Effect
}

// Resolve is what a person decides of an outcome nobody can know, or of two
// that contradict each other. It is audited, and what it overrules stays as
// evidence. A live attempt is left alone.
func Resolve(seen Seen, now time.Time, result Result, p Policy, by, reason string) (Edit, error) {
	current := seen.Record
	switch {
	case current == nil:
		return Edit{}, ErrNotFound
	case by == "" || reason == "":
		return Edit{}, errors.New("refrain: a resolution needs a name and a reason")
	case current.State.Final() && !current.Disputed:
		return Edit{}, fmt.Errorf("refrain: %s is %s already", current.Ref, current.State)
	case current.State == Submitted && now.Before(current.Lease):
		return Edit{}, fmt.Errorf("refrain: an attempt of %s is under way until %s", current.Ref, current.Lease.Format(time.RFC3339))
	}
	next := *current
	next.Settle(result, now, p)
	next.Disputed = false
	next.Lease = time.Time{}
	if current.State.Final() { // a correction only lengthens the memory
		next.ReplayUntil = latest(next.ReplayUntil, current.ReplayUntil)
		next.RememberUntil = latest(next.RememberUntil, current.RememberUntil)
		if !next.heard(current.Result) {
			next.Evidence = append(slices.Clip(next.Evidence), current.Result)
		}
	}
	return Edit{Put: &next, By: by, Action: "resolve", Reason: reason, Detail: fmt.Sprintf("%s to %s", current.State, next.State)}, nil
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
