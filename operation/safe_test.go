package operation

import (
	"errors"
	"testing"
	"time"

	"github.com/refrain-dev/refrain/record"
)

// TestSafe: a submission is safe if nothing may have left, or if the terms make
// another one harmless at that instant.
func TestSafe(t *testing.T) {
	t.Parallel()
	lost := attempts(t, Lost) // opened at 0, its NotAfter is 30
	within := accepted()
	within.Within = 10 * time.Second
	asked := func(o Operation, second int) Operation {
		o.NotFound = at(second)
		return o
	}
	disputed := attempts(t, Refused).Close(1, confirmation("a"), at(20), pace)
	for _, c := range []struct {
		name  string
		o     Operation
		terms Terms
		now   time.Time
		want  error
	}{
		{"first", accepted(), nothing, at(0), nil},
		{"first, in its last moment", within, nothing, at(10).Add(-time.Microsecond), nil},
		{"first, too late", within, nothing, at(10), ErrTooLate},
		{"after one that was not sent", attempts(t, NotSent), nothing, at(9), nil},
		{"under way", attempts(t, Open), forever, at(9), ErrUnderWay},
		{"under way, its lease past", attempts(t, Open), forever, at(99), ErrUnderWay},
		{"confirmed", attempts(t, Confirmed), forever, at(9), ErrSettled},
		{"rejected", attempts(t, Refused), forever, at(9), ErrSettled},
		{"disputed", disputed, forever, at(30), ErrSettled},
		{"lost, nothing promised", lost, nothing, at(9), ErrNotRepeatable},
		{"lost, to be asked about", lost, queries, at(9), ErrNotRepeatable},
		{"lost, not found, which proves nothing", asked(lost, 9999), queries, at(9999), ErrNotRepeatable},
		{"lost, in the window", lost, dedupes, at(3539), nil},
		{"lost, in the window's last moment", lost, dedupes, at(3540).Add(-time.Microsecond), nil},
		{"lost, in the margin", lost, dedupes, at(3540), ErrWindowOver},
		{"lost, no end of the window", lost, forever, at(1 << 30), nil},
		{"lost, at least once", lost, atLeast, at(1 << 30), nil},
		{"lost, not found too early", asked(lost, 149), notFound, at(999), ErrNotRepeatable},
		{"lost, not found late enough", asked(lost, 150), notFound, at(150), nil},
		{"lost, not asked", lost, notFound, at(999), ErrNotRepeatable},
		{"sent again within its time", func() Operation { o := lost; o.Within = time.Second; return o }(), dedupes, at(9), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if err := c.o.Safe(c.terms, c.now); !errors.Is(err, c.want) {
				t.Errorf("Safe is %v, want %v", err, c.want)
			}
			next, err := c.o.Open(c.terms, c.now, lease)
			if !errors.Is(err, c.want) {
				t.Errorf("Open is %v, want %v", err, c.want)
			}
			if opens := next.State == record.Submitted && len(next.Attempts) > len(c.o.Attempts); opens != (c.want == nil) {
				t.Errorf("Open made %s of it, and %d attempts", next.State, len(next.Attempts))
			}
		})
	}
}
