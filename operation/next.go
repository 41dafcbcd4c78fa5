package operation

import (
	"errors"
	"time"

	"github.com/refrain-dev/refrain/record"
)

// Move is what a machine may do next with an operation.
type Move uint8

const (
	// Rest: nothing, until Due or for ever.
	Rest Move = iota
	// Submit: open an attempt.
	Submit
	// Ask: query the provider.
	Ask
	// Abandon: the attempt's lease is past; write that its outcome is unknown.
	Abandon
	// Expire: the time to begin it has passed and nothing was sent; withdraw it.
	Expire
	// Leave: only a person can decide; Why says what about.
	Leave
)

// Next decides what a machine may do at now, which is the store's time.
func (o Operation) Next(t Terms, now time.Time) Move {
	switch {
	case o.State.Final() || o.Disputed:
		return Rest
	case o.State == record.Submitted:
		if now.Before(o.Lease) {
			return Rest
		}
		return Abandon
	case o.State == record.Accepted && o.late(now):
		return Expire
	case o.Due.IsZero() || now.Before(o.Due):
		return Rest
	case o.State == record.Accepted:
		return Submit
	case t.Queries && o.NotFound.IsZero():
		return Ask
	case o.Safe(t, now) == nil:
		return Submit
	case t.Queries:
		return Ask
	}
	return Leave
}

// begin is when a first attempt may no longer begin; zero means never.
func (o Operation) begin() time.Time {
	if o.Within <= 0 {
		return time.Time{}
	}
	return o.Created.Add(o.Within)
}

func (o Operation) late(now time.Time) bool {
	begin := o.begin()
	return !begin.IsZero() && !now.Before(begin)
}

// Why a submission is not safe.
var (
	ErrNotRepeatable = errors.New("the provider does not recognise a repeated key, and an attempt may have left")
	ErrWindowOver    = errors.New("the provider's window for this key has ended, less the margin, and an attempt may have left")
	ErrSettled       = errors.New("the operation is settled")
	ErrUnderWay      = errors.New("an attempt is under way")
	ErrTooLate       = errors.New("the time to begin it has passed")
)

// Safe reports why a submission at now could perform the effect twice, or is
// otherwise not permitted: one of the errors above. nil means that it is safe
// under the provider's terms. A first submission is, and so is one after
// attempts that provably did nothing.
func (o Operation) Safe(t Terms, now time.Time) error {
	switch {
	case o.State.Final() || o.Disputed:
		return ErrSettled
	case o.State == record.Submitted:
		return ErrUnderWay
	case o.State == record.Accepted && o.late(now):
		return ErrTooLate
	case o.State == record.Accepted || o.open(0) == 0 || t.AtLeastOnce || o.disproven(t):
		return nil
	case !t.Dedupes:
		return ErrNotRepeatable
	}
	if end := t.until(o.First); !end.IsZero() && !now.Before(end) {
		return ErrWindowOver
	}
	return nil
}

// disproven: the provider has said late enough that it knows nothing of the key.
func (o Operation) disproven(t Terms) bool {
	if t.NotFoundFinalAfter == 0 || o.NotFound.IsZero() {
		return false
	}
	latest := o.Dropped.NotAfter
	for _, a := range o.Attempts {
		if a.mayHaveLeft() && a.NotAfter.After(latest) {
			latest = a.NotAfter
		}
	}
	return !o.NotFound.Before(latest.Add(t.NotFoundFinalAfter))
}
