package operation

import (
	"cmp"
	"errors"
	"fmt"
	"time"
)

// Terms are what a provider promises. The zero value promises nothing: one
// submission, and a person decides if its outcome is not known.
type Terms struct {
	// Dedupes: a repeated key does not act again within DedupesFor of the first
	// submission. 0 means for as long as the provider remembers the effect itself.
	Dedupes    bool
	DedupesFor time.Duration
	// AtLeastOnce: acting twice is within what the receiver expects, as for a
	// message that carries a stable id.
	AtLeastOnce bool
	// Queries: the provider can be asked by key what became of a submission.
	Queries bool
	// NotFoundFinalAfter: an answer "not found" that is at least this much later
	// than every attempt's NotAfter proves that they were not and will not be
	// performed. It is no shorter than Margin: a byte may leave so late. 0 means
	// never, which is the truth for most.
	NotFoundFinalAfter time.Duration
	// KeyMin and KeyMax bound the key's length in bytes; 0 means 1 and MaxKey.
	KeyMin, KeyMax int
	// Margin is kept free at the end of the window: no shorter than a worker can
	// be paused between its last look at the clock and the arrival of its first
	// byte. A longer pause can perform the effect twice; that is disputed once both
	// confirmations are known by different references. 0 means DefaultMargin;
	// negative means none.
	Margin time.Duration
}

// DefaultMargin of Terms: a minute.
const DefaultMargin = time.Minute

// Validate names what contradicts itself.
func (t Terms) Validate() error {
	switch {
	case t.DedupesFor < 0 || t.NotFoundFinalAfter < 0 || t.KeyMin < 0 || t.KeyMax < 0:
		return errors.New("operation: terms: a negative bound")
	case t.DedupesFor > 0 && !t.Dedupes:
		return errors.New("operation: terms: DedupesFor without Dedupes")
	case t.NotFoundFinalAfter > 0 && !t.Queries:
		return errors.New("operation: terms: NotFoundFinalAfter without Queries")
	case t.NotFoundFinalAfter > 0 && t.NotFoundFinalAfter < t.margin():
		return fmt.Errorf("operation: terms: NotFoundFinalAfter of %v is shorter than the margin of %v", t.NotFoundFinalAfter, t.margin())
	case t.KeyMax > MaxKey || t.KeyMin > cmp.Or(t.KeyMax, MaxKey):
		return fmt.Errorf("operation: terms: keys of %d to %d bytes", t.KeyMin, t.KeyMax)
	case t.DedupesFor > 0 && t.DedupesFor <= t.margin():
		return fmt.Errorf("operation: terms: a window of %v leaves nothing beside a margin of %v", t.DedupesFor, t.margin())
	}
	return nil
}

func (t Terms) margin() time.Duration {
	if t.Margin == 0 {
		return DefaultMargin
	}
	return max(t.Margin, 0)
}

// until is when the window of an operation first submitted at first ends, less
// the margin; zero means that it does not end.
func (t Terms) until(first time.Time) time.Time {
	if t.AtLeastOnce || t.DedupesFor == 0 {
		return time.Time{}
	}
	return first.Add(t.DedupesFor - t.margin())
}
