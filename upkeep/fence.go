package upkeep

import (
	"errors"
	"fmt"
	"time"

	"github.com/refrain-dev/refrain/record"
)

// Fence says that what was recorded until a time may have been lost: a key born
// until then and not found is refused as a possible late retry, and so is one
// without a time for as long as the fence stands.
type Fence struct {
	ID        int64     `json:"id"`
	Operation string    `json:"operation"` // "" is every operation
	Scope     string    `json:"scope"`     // as stored; "" is every scope
	Until     time.Time `json:"until"`     // when the lost store was last written to, or later
	// Since is when what was restored was saved; zero where nobody knows. It is
	// told and exempts nothing: a key born before may have come first after it.
	Since  time.Time `json:"since"`
	Reason string    `json:"reason"`
	By     string    `json:"by"`
	At     time.Time `json:"at"`
	Ended  time.Time `json:"ended"` // from when keys without a time run again; zero while it stands

	// Early is how far its until may lie in the future when it is set: 0, but for
	// what a witness knows.
	Early time.Duration `json:"-"`
}

// ErrFence is wrapped by what is wrong with a [Fence].
var ErrFence = errors.New("refrain: the fence cannot be set")

// Check is what is wrong with a fence that somebody sets at now: [ErrFence].
func (f Fence) Check(now time.Time) error {
	switch {
	case f.Until.IsZero():
		return fmt.Errorf("%w: it needs an until", ErrFence)
	case f.Until.After(now.Add(f.Early)):
		return fmt.Errorf("%w: its until, %s, is later than now, %s: it would refuse new keys", ErrFence,
			f.Until.UTC().Format(time.RFC3339Nano), now.UTC().Format(time.RFC3339Nano))
	case f.Since.After(f.Until):
		return fmt.Errorf("%w: its since is later than its until", ErrFence)
	case Signed(f.By, f.Reason) != nil:
		return fmt.Errorf("%w: %w", ErrFence, ErrUnsigned)
	case len(f.Operation) > maxName || len(f.Scope) > maxWords:
		return fmt.Errorf("%w: it is too long", ErrFence)
	}
	return nil
}

// What a person may write.
const (
	maxWords = 1000 // bytes
	maxName  = 255  // bytes
)

// Covers reports whether an identity is the fence's.
func (f Fence) Covers(id record.Identity) bool {
	return (f.Operation == "" || f.Operation == id.Operation) && (f.Scope == "" || f.Scope == id.Scope)
}

// LostUntil is until when what happened to the action of rec may have been lost;
// without one, fences over everything count. Zero: nothing was.
func LostUntil(fences []Fence, rec *record.Record) (until time.Time) {
	var id record.Identity
	if rec != nil {
		id = rec.Identity
	}
	for _, f := range fences {
		if f.Covers(id) && f.Until.After(until) {
			until = f.Until
		}
	}
	return until
}

// Caused reports whether a refusal under review may be the fence's.
func (f Fence) Caused(r Review) bool {
	return f.Covers(r.Identity) && !r.First.Before(f.At)
}
