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
	// Glance is a cheaper Load that comes first: it reads the record alone, with the
	// store's time and the identity version it was written under. Without a record
	// it says nothing, and the transaction looks at all of it. nil: Load comes first.
	Glance func(ctx context.Context, id Identity) (Seen, time.Time, error)
	// Change is the engine's, as [Store.Change]: by it a reader writes that a
	// lease is past, and a refused late retry is kept for review. nil means
	// neither.
	Change func(ctx context.Context, id Identity, decide func(Seen, time.Time) (Edit, error)) error
	// Unseen reports a claim for which a lookup would almost certainly find
	// nothing: the transaction, which looks anyway, comes first. When it is not
	// to be had at once (see Claim.Hasty) the lookup comes next. nil: always look
	// first.
	Unseen func(c *Claim) bool
	// Wake ends a wait for another process's claim early: woken is closed when
	// the identity may have been settled, and stop is called when nobody waits any
	// more. nil: waiters poll.
	Wake func(id Identity) (woken <-chan struct{}, stop func())

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
	load := d.Load
	hasty := d.Unseen != nil && d.Unseen(c) || d.Glance != nil && d.flights.under(c.Identity) // whoever leads looks for all
	if !hasty && d.Glance != nil {
		seen, now, err := d.Glance(ctx, c.Identity)
		hasty = err == nil && (seen.Record == nil || forgotten(seen.Record, now))
		load = func(context.Context, Identity) (Seen, time.Time, error) { return seen, now, err }
	}
	if hasty {
		c.Hasty = true
		rec, fresh, err := d.lead(ctx, until, c, time.Time{}, run)
		if !errors.Is(err, ErrNotBegun) || !errors.Is(err, StoreUnavailable) {
			return rec, fresh, err
		}
		c.Hasty, load = false, d.Load
	}
	for attempt := 0; ; attempt++ {
		seen, now, err := load(ctx, c.Identity)
		load = d.Load
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
			if !d.pause(ctx, until, c.Identity, attempt) {
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
		if seen.Held && c.Hasty && ctx.Err() == nil {
			// Nobody has looked for this caller yet, and another process may have
			// committed before it came.
			if seen, now, err = d.Load(ctx, c.Identity); err == nil {
				err = c.CheckIdentity(seen)
			}
			if err != nil {
				return nil, false, Unavailable(err)
			}
			shared, seen.Held = seen.Record, seen.Record == nil
		}
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
	rec, fresh, err = d.claim(ctx, until, c, run)
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

// claim runs c. While another process holds the identity it asks again and
// holds nothing meanwhile.
func (d *Driver) claim(ctx context.Context, until time.Time, c *Claim, run func(context.Context) (*Record, bool, error)) (*Record, bool, error) {
	for attempt := 0; ; attempt++ {
		rec, fresh, err := run(ctx)
		if !errors.Is(err, ErrHeld) {
			return rec, fresh, err
		}
		held := Seen{Held: true}
		if !d.pause(ctx, until, c.Identity, attempt) {
			now := time.Now()
			return nil, false, Refusal(Decide(c.Policy, held, c.Request, now), held, c, now)
		}
		seen, now, err := d.Load(ctx, c.Identity)
		if err == nil {
			err = c.CheckIdentity(seen)
		}
		if err != nil {
			return nil, false, err
		}
		switch decision := Decide(c.Policy, seen, c.Request, now); decision.Action {
		case Execute, Wait:
		case Replay, Current:
			return seen.Record, false, nil
		default:
			return nil, false, Refusal(decision, seen, c, now)
		}
	}
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
		e.Err = d.Change(ctx, c.Identity, func(seen Seen, now time.Time) (Edit, error) {
			if !Decide(c.Policy, seen, c.Request, now).Review {
				return Edit{}, nil // settled meanwhile
			}
			return Edit{Review: c}, nil
		})
	}
	return e
}

// Refusal is the error of a decision that does not answer with a result.
func Refusal(d Decision, seen Seen, c *Claim, now time.Time) *Error {
	e := &Error{Problem: d.Problem, Row: d.Row, Now: now, Record: seen.Record}
	switch d.Row {
	case "2", "2b", "2c":
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
	if d.Problem == Recovering { // people look
		e.RetryAfter = time.Minute
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

// pause waits before a claim of another process is asked about again; false
// when ctx or the waiting time ends first.
func (d *Driver) pause(ctx context.Context, until time.Time, id Identity, attempt int) bool {
	left := time.Until(until)
	if left <= 0 {
		return false
	}
	var woken <-chan struct{}
	if d.Wake != nil {
		wake, stop := d.Wake(id)
		defer stop()
		woken = wake
	}
	t := time.NewTimer(min(Backoff(pollFirst, pollMost, attempt), left))
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-woken:
		return true
	case <-ctx.Done():
		return false
	}
}
