package record

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"
)

// TestDriveHasty: a key the process has not met goes to the transaction first;
// only a transaction that did not begin sends it back to look.
func TestDriveHasty(t *testing.T) {
	stored := &Record{State: Confirmed, ReplayUntil: time.Unix(1<<40, 0), RememberUntil: time.Unix(1<<40, 0)}
	for _, tt := range []struct {
		name        string
		first       error
		found       *Record
		runs, loads int
		fails       bool
	}{
		{"runs at once", nil, nil, 1, 0, false},
		{"looks when it did not begin", fmt.Errorf("busy: %w", ErrNotBegun), stored, 1, 1, false},
		{"runs again when nothing was found", fmt.Errorf("busy: %w", ErrNotBegun), nil, 2, 1, false},
		{"tells what failed after the start", errors.New("disk full"), stored, 1, 0, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			runs, loads := 0, 0
			d := Driver{
				Unseen: func(*Claim) bool { return true },
				Load: func(context.Context, Identity) (Seen, time.Time, error) {
					loads++
					return Seen{Record: tt.found}, time.Unix(0, 0), nil
				},
			}
			c := &Claim{Policy: Policy{Wait: time.Second, MaxWaiters: 1}}
			_, _, err := d.Drive(t.Context(), c, func(context.Context) (*Record, bool, error) {
				runs++
				if runs == 1 && tt.first != nil {
					if !c.Hasty {
						t.Error("the first run does not know that nobody has looked")
					}
					return nil, false, tt.first
				}
				return stored, true, nil
			})
			if runs != tt.runs || loads != tt.loads || (err != nil) != tt.fails {
				t.Errorf("%d runs, %d loads, %v; want %d, %d, failure %t", runs, loads, err, tt.runs, tt.loads, tt.fails)
			}
		})
	}
}
