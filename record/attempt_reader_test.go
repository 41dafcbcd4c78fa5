package record

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// Change applies what decide asks for to the one record.
func (s *shelf) Change(_ context.Context, _ Identity, decide func(Seen, time.Time) (Edit, error)) error {
	edit, err := decide(Seen{Record: s.rec.Load()}, time.Now())
	if err == nil && edit.Put != nil {
		s.rec.Store(edit.Put)
	}
	return err
}

// looks is a run that finds what is there inside its transaction.
func (s *shelf) looks(c *Claim) run {
	return func(context.Context) (*Record, bool, error) {
		seen := Seen{Record: s.rec.Load()}
		d := Decide(c.Policy, seen, c.Request, time.Now())
		if d.Action == Current {
			return seen.Record, false, nil
		}
		return nil, false, Refusal(d, seen, c, time.Now())
	}
}

// TestDriveWritesThatTheLeaseIsPast wherever the reader found it: in the lookup,
// or inside the transaction that was to look first.
func TestDriveWritesThatTheLeaseIsPast(t *testing.T) {
	t.Parallel()
	for _, async := range []bool{false, true} {
		for _, inside := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				var s shelf
				c := leased()
				c.Policy.Async, c.Policy.Wait = async, 0
				s.rec.Store(opened(t, c, Seen{}, time.Now()))
				d := Driver{Load: s.Load, Change: s.Change, Unseen: func(*Claim) bool { return inside }}
				ask := func() (State, error) {
					rec, _, err := d.Drive(t.Context(), c, s.looks(c))
					var refusal *Error
					if errors.As(err, &refusal) {
						return refusal.State, err
					}
					return rec.State, err
				}
				<-time.After(lease - time.Microsecond)
				if told, err := ask(); told != Submitted || s.rec.Load().State != Submitted || !async && !errors.Is(err, InProgress) {
					t.Errorf("async %t, inside %t: before its end it is told to be %v, %v; stored is %v", async, inside, told, err, s.rec.Load().State)
				}
				<-time.After(time.Microsecond)
				if told, err := ask(); told != Unknown || s.rec.Load().State != Unknown || !async && !errors.Is(err, OutcomeUnknown) {
					t.Errorf("async %t, inside %t: at its end it is told to be %v, %v; stored is %v", async, inside, told, err, s.rec.Load().State)
				}
			})
		}
	}
}

// TestDriveTellsWhenItCannotWrite: the answer of a store that failed is row 9.
func TestDriveTellsWhenItCannotWrite(t *testing.T) {
	t.Parallel()
	for _, inside := range []bool{false, true} {
		var s shelf
		c := leased()
		c.Policy.Wait = 0
		s.rec.Store(opened(t, c, Seen{}, time.Now().Add(-2*lease)))
		broken := errors.New("disk")
		d := Driver{
			Load:   s.Load,
			Unseen: func(*Claim) bool { return inside },
			Change: func(context.Context, Identity, func(Seen, time.Time) (Edit, error)) error { return broken },
		}
		_, _, err := d.Drive(t.Context(), c, s.looks(c))
		wantRefusal(t, err, "9", StoreUnavailable)
		if !errors.Is(err, broken) {
			t.Errorf("inside %t: %v hides the store's error", inside, err)
		}
	}
}
