package upkeep

import (
	"context"
	"time"

	"github.com/refrain-dev/refrain/record"
)

// Reap is one batch of a reaper.
type Reap struct {
	// Limit is how many records the batch looks at: at most 10,000, and 0 means 1,000.
	Limit int
	// Until: memory that ends later is left alone. Zero, and every time after the
	// store's, is the store's.
	Until time.Time
	// Archive is given the records that are about to be forgotten, as they are
	// stored, within the transaction that forgets them. After its error nothing is
	// forgotten, and the error is returned. It may be called again with the same
	// records. nil keeps none.
	Archive func(ctx context.Context, forgotten []record.Record) error
}

// Reaped is what a batch did.
type Reaped struct {
	Looked     int           `json:"looked"`
	Trimmed    int           `json:"trimmed"`    // results that are kept no longer
	Forgotten  int           `json:"forgotten"`  // records
	Unfinished int           `json:"unfinished"` // unfinished, unknown or disputed, or with an operation that is: left alone
	Lag        time.Duration `json:"lag"`        // how long ago the batch was due; 0 where nothing was
	More       bool          `json:"more"`       // there is more to look at by now
	Now        time.Time     `json:"now"`        // the store's
}

// Span is a part of the records, in the order of their refs, that the reaper has
// seen, and when it looks at it again. Spans follow each other without a gap: the
// first begins before every ref. A record that comes into one late is seen with it.
type Span struct {
	After string    `json:"after"` // exclusive; "" before every ref
	Last  string    `json:"last"`  // inclusive
	Due   time.Time `json:"due"`
}

// Settling is how old a ref has to be at least before a reaper looks at it the first
// time: the transaction that made it has ended by then. See [Settled].
const Settling = time.Minute

// Settled is where the refs end that a reaper looks at for the first time at now. It
// moves by the minute, so that spans are long and a reaper comes to an end while new
// records come.
func Settled(now time.Time) string { return record.RefAt(now.Add(-Settling).Truncate(time.Minute)) }

// Row is what a reaper reads of a record.
type Row struct {
	Ref      string
	Version  int64
	Identity record.Identity // that its hash belongs to
	// Settled: its state is final and undisputed, it can be read by this binary and
	// no external operation of its action is unfinished.
	Settled bool
	Kept    bool // its result is kept: Digest is empty

	Created, ReplayUntil, RememberUntil time.Time
}

// Plan is what a batch does with the rows of a span.
type Plan struct {
	Trim, Forget []Row
	Unfinished   int
	// Next is when to look at what is left again; zero when nothing is.
	Next time.Time
}

// patience is how much later than due a record may be reaped, so that those which
// are due about the same time are reaped together.
const patience = time.Hour

// PlanReap decides about rows at now, which is not after the store's time. It is pure.
func PlanReap(rows []Row, now time.Time) Plan {
	var p Plan
	var next []time.Time
	for _, r := range rows {
		switch {
		case !r.Settled:
			p.Unfinished++
			next = append(next, now.Add(min(max(now.Sub(r.Created)/4, time.Minute), patience)))
		case !now.Before(r.RememberUntil):
			p.Forget = append(p.Forget, r)
		case !r.Kept || !r.ReplayUntil.Before(r.RememberUntil):
			next = append(next, r.RememberUntil)
		case !now.Before(r.ReplayUntil):
			p.Trim = append(p.Trim, r)
			next = append(next, r.RememberUntil)
		default:
			next = append(next, r.ReplayUntil)
		}
	}
	p.Next = together(next, now)
	return p
}

// together is when the earliest of times and those soon after it have come.
func together(times []time.Time, now time.Time) time.Time {
	if len(times) == 0 {
		return time.Time{}
	}
	first := times[0]
	for _, t := range times {
		if t.Before(first) {
			first = t
		}
	}
	bound := first.Add(min(max(first.Sub(now)/16, 0), patience))
	last := first
	for _, t := range times {
		if t.After(last) && !t.After(bound) {
			last = t
		}
	}
	return last
}

// Idle is when a span without records is looked at again, for one that comes late.
func Idle(now time.Time) time.Time { return now.Add(patience) }

// Bounded is r with its defaults, at the store's time now.
func (r Reap) Bounded(now time.Time) Reap {
	if r.Limit <= 0 {
		r.Limit = 1000
	}
	r.Limit = min(r.Limit, 10_000)
	if r.Until.IsZero() || r.Until.After(now) {
		r.Until = now
	}
	return r
}
