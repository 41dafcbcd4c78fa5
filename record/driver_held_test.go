package record

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A claim of another process is waited for without holding anything, and its
// record is found by a lookup.
func TestDriveHeldElsewhere(t *testing.T) {
	held := fmt.Errorf("engine: %w", ErrHeld)
	t.Run("its record", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := claimOf("k")
			var stored *Record
			d := Driver{Load: func(context.Context, Identity) (Seen, time.Time, error) {
				return Seen{Record: stored}, time.Now(), nil
			}}
			runs := 0
			rec, fresh, err := d.Drive(t.Context(), c, func(context.Context) (*Record, bool, error) {
				if runs++; runs == 3 {
					stored = settled(c)
				}
				return nil, false, held
			})
			if err != nil || fresh || rec != stored || runs != 3 {
				t.Errorf("= %v, %v, %v after %d runs; want the stored record after 3", rec, fresh, err, runs)
			}
		})
	})
	t.Run("its end without one", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := claimOf("k")
			d := Driver{Load: func(context.Context, Identity) (Seen, time.Time, error) { return Seen{}, time.Now(), nil }}
			runs := 0
			_, fresh, err := d.Drive(t.Context(), c, func(context.Context) (*Record, bool, error) {
				if runs++; runs < 3 {
					return nil, false, held
				}
				return settled(c), true, nil
			})
			if err != nil || !fresh {
				t.Errorf("fresh = %v, %v; want a run of our own", fresh, err)
			}
		})
	})
	t.Run("as long as Wait", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := claimOf("k")
			c.Policy.Wait = time.Second
			d := Driver{Load: func(context.Context, Identity) (Seen, time.Time, error) { return Seen{}, time.Now(), nil }}
			began := time.Now()
			_, _, err := d.Drive(t.Context(), c, func(context.Context) (*Record, bool, error) { return nil, false, held })
			var refusal *Error
			if !errors.As(err, &refusal) || refusal.Problem != InProgress || refusal.Row != "6a" {
				t.Errorf("= %v, want row 6a", err)
			}
			if took := time.Since(began); took != time.Second {
				t.Errorf("waited %v, want 1s", took)
			}
		})
	})
	t.Run("woken", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := claimOf("k")
			woken := make(chan struct{})
			close(woken)
			stopped := 0
			d := Driver{
				Load: func(context.Context, Identity) (Seen, time.Time, error) { return Seen{}, time.Now(), nil },
				Wake: func(Identity) (<-chan struct{}, func()) { return woken, func() { stopped++ } },
			}
			began, runs := time.Now(), 0
			_, _, err := d.Drive(t.Context(), c, func(context.Context) (*Record, bool, error) {
				if runs++; runs < 4 {
					return nil, false, held
				}
				return settled(c), true, nil
			})
			if err != nil || time.Since(began) != 0 || stopped != 3 {
				t.Errorf("%v after %v, %d waits stopped; want at once and 3", err, time.Since(began), stopped)
			}
		})
	})
}

func settled(c *Claim) *Record {
	rec := c.Begin(time.Now())
	rec.Settle(Result{Status: 201}, time.Now(), c.Policy)
	return rec
}

// A caller whose wait is over at once has had nobody look for it: another
// process may have committed before it came.
func TestDriveJoinsAndLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s shelf
		d := Driver{Load: s.Load, Unseen: func(*Claim) bool { return true }}
		release := make(chan struct{})
		var led sync.WaitGroup
		led.Go(func() {
			_, _, _ = d.Drive(t.Context(), claimOf("k"), func(context.Context) (*Record, bool, error) {
				<-release
				return nil, false, errors.New("lost")
			})
		})
		synctest.Wait()
		c := claimOf("k")
		c.Policy.Wait = 0
		_, _, err := d.Drive(t.Context(), c, never(t))
		wantRefusal(t, err, "6a", InProgress)
		elsewhere := settled(c)
		s.rec.Store(elsewhere)
		rec, fresh, err := d.Drive(t.Context(), claimOf("k"), never(t))
		if err != nil || fresh || rec != elsewhere {
			t.Errorf("= %v, %v, %v; want what the other process committed", rec, fresh, err)
		}
		close(release)
		led.Wait()
	})
}
