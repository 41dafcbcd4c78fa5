package record

import (
	"context"
	"errors"
	"time"
)

// Driver is what every engine does the same way around its transaction: look
// first, collapse duplicates, run once, tell the rest. The zero value with Load
// set is ready.
type Driver struct {
	// Load is the engine's lookup outside the transaction, as [Store.Load].
	Load func(ctx context.Context, id Identity) (Seen, time.Time, error)
	// Change is the engine's, as [Store.Change]: by it a reader writes that a
	// lease is past, and a refused late retry is kept for review. nil means
	// neither.
	Change func(ctx context.Context, id Identity, decide func(Seen, time.Time) (Edit, error)) error
	// Unseen reports a claim for which a lookup would almost certainly find
	// nothing: the transaction, which looks anyway, comes first. When it is not
	// to be had at once (see Claim.Hasty) the lookup comes next. nil: always look
	// first.
	Unseen func(c *Claim) bool

	flights flights
}

// pollFirst and pollMost bound how often a waiter asks about another process's
// claim, which it does without holding anything.
const (
	pollFirst = 5 * time.Millisecond
	pollMost  = 200 * time.Millisecond
)

// Drive answers one claim. run executes in the engine's transaction: it looks
// again, decides, and returns the committed record, fresh = true when its own
// effect made it. What run returns as another error is row 9.
func (d *Driver) Drive(ctx context.Context, c *Claim, run func(context.Context) (rec *Record, fresh bool, err error)) (*Record, bool, error) {
	if Nested(ctx) {
		return nil, false, ErrNested
	}
	until := time.Now().Add(c.Policy.Wait)
	if d.Unseen != nil && d.Unseen(c) {
		c.Hasty = true
		rec, fresh, err := d.lead(ctx, until, c, time.Time{}, run)
		if !errors.Is(err, ErrNotBegun) || !errors.Is(err, StoreUnavailable) {
			return rec, fresh, err
		}
		c.Hasty = false
	}
	for attempt := 0; ; attempt++ {
		seen, now, err := d.Load(ctx, c.Identity)
		if err != nil {
			return nil, false, Unavailable(err)
		}
		if err := c.CheckIdentity(seen); err != nil { // its record may have another identity by now
			return nil, false, err
		}
		decision := Decide(c.Policy, seen, c.Request, now)
		if decision.LeasePast {
			if seen.Record, err = d.expire(ctx, seen.Record); err != nil {
				return nil, false, err
			}
		}
		switch decision.Action {
		case Replay, Current:
			return seen.Record, false, nil
		case Wait:
			if !sleep(ctx, until, Backoff(pollFirst, pollMost, attempt)) {
				return nil, false, Refusal(decision, seen, c, now)
			}
		case Execute:
			return d.lead(ctx, until, c, now, run)
		default:
			return nil, false, d.refused(ctx, c, Refusal(decision, seen, c, now))
		}
	}
}

// lead runs the claim, or shares the flight of the caller that does.
func (d *Driver) lead(ctx context.Context, until time.Time, c *Claim, now time.Time, run func(context.Context) (*Record, bool, error)) (rec *Record, fresh bool, err error) {
	shared, lead := d.share(ctx, until, c)
	if !lead {
		seen := Seen{Record: shared, Held: shared == nil}
		if shared != nil && shared.Final.After(now) {
			now = shared.Final // the record is younger than our lookup
		}
		decision := Decide(c.Policy, seen, c.Request, now)
		switch decision.Action {
		case Replay, Current:
			return shared, false, nil
		case Execute: // its memory ended meanwhile; only a new lookup may say so
			decision = Decide(c.Policy, Seen{Held: true}, c.Request, now)
		}
		return nil, false, Refusal(decision, seen, c, now)
	}
	var committed *Record
	defer func() { d.flights.land(c.Identity, committed) }() // also when the effect panics
	rec, fresh, err = run(ctx)
	rec, err = d.lapsed(ctx, rec, err)
	var refusal *Error
	switch {
	case err == nil:
		committed = rec
		d.flights.clear(c.Identity)
	case !errors.As(err, &refusal):
		err = Unavailable(err)
	case refusal.Problem == NotExecuted:
		strikes := d.flights.strike(c.Identity)
		refusal.RetryAfter = strikeDelay(c.Policy.MaxExecution, strikes)
		if strikes >= maxStrikes {
			refusal.RetryAfter, refusal.Final = 0, true
		}
	default:
		committed = refusal.Record // found inside the transaction: the waiters may have the right request
		err = d.refused(ctx, c, refusal)
	}
	return rec, fresh, err
}

// lapsed writes what was found inside run's transaction, which wrote nothing: a
// lease that is past.
func (d *Driver) lapsed(ctx context.Context, rec *Record, err error) (*Record, error) {
	var refusal *Error
	switch {
	case err == nil && rec != nil && rec.State == Submitted:
		return d.expire(ctx, rec)
	case errors.As(err, &refusal) && refusal.Problem == OutcomeUnknown && refusal.Record != nil && refusal.Record.State == Submitted:
		told, failed := d.expire(ctx, refusal.Record)
		if failed != nil {
			return nil, failed
		}
		refusal.Record, refusal.State = told, told.State
	}
	return rec, err
}

// expirePatience bounds it: whoever asks may wait on a context without an end.
const expirePatience = 10 * time.Second

// expire marks rec's outcome unknown if its lease is past, and returns the
// record to tell of.
func (d *Driver) expire(ctx context.Context, rec *Record) (*Record, error) {
	if d.Change == nil {
		return rec, nil
	}
	told := rec
	ctx, cancel := context.WithTimeout(ctx, expirePatience)
	defer cancel()
	err := d.Change(ctx, rec.Identity, func(seen Seen, now time.Time) (Edit, error) {
		told = rec // asked again, it starts anew
		edit := Expire(seen, now)
		if edit.Put != nil {
			told = edit.Put
		}
		return edit, nil
	})
	return told, Unavailable(err)
}

// share gives the lead, or the record of the flight that was under way.
func (d *Driver) share(ctx context.Context, until time.Time, c *Claim) (*Record, bool) {
	if d.flights.first(c.Identity) {
		return nil, true
	}
	wait, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	return d.flights.join(wait, c.Identity, c.Policy.MaxWaiters)
}

// refused stores a late retry for review on its way out.
func (d *Driver) refused(ctx context.Context, c *Claim, e *Error) error {
	if e.Problem == TooLate && d.Change != nil {
		e.Err = d.Change(ctx, c.Identity, func(Seen, time.Time) (Edit, error) { return Edit{Review: c}, nil })
	}
	return e
}

// Refusal is the error of a decision that does not answer with a result.
func Refusal(d Decision, seen Seen, c *Claim, now time.Time) *Error {
	e := &Error{Problem: d.Problem, Row: d.Row, Now: now, Record: seen.Record}
	switch d.Row {
	case "2", "2b":
		e.Record = nil
		e.Born, _ = c.Policy.KeyTime.Birth(c.Identity.Key)
	case "11", "12", "13": // they tell nothing about an earlier request
		e.Record = nil
	}
	if e.Record != nil {
		e.Ref = e.Record.Ref
		if d.Problem != KeyReused {
			e.State, e.Effect = e.Record.State, e.Record.Result.Effect
		}
	}
	if d.Problem.Retryable() {
		e.RetryAfter = time.Second
	}
	return e
}

// Unavailable is row 9 with its cause; an error that is already a refusal stays
// what it is. An error from storage is never an empty lookup.
func Unavailable(err error) error {
	var refusal *Error
	if err == nil || errors.As(err, &refusal) || errors.Is(err, ErrNested) {
		return err
	}
	e := &Error{Problem: StoreUnavailable, Row: "9", RetryAfter: time.Second, Err: err}
	if errors.Is(err, RecordUnreadable) {
		e.Problem, e.Row, e.RetryAfter = RecordUnreadable, "16", 0
	}
	return e
}

// sleep waits for d; false when ctx or the waiting time ends first.
func sleep(ctx context.Context, until time.Time, d time.Duration) bool {
	left := time.Until(until)
	if left <= 0 {
		return false
	}
	t := time.NewTimer(min(d, left))
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
