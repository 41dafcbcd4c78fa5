package record

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// A glance answers with a live record of the same identity version; in any other
// case it says nothing, and the transaction looks at everything.
func TestDriveGlances(t *testing.T) {
	live := &Record{State: Confirmed, ReplayUntil: time.Unix(10, 0), RememberUntil: time.Unix(20, 0)}
	for _, tt := range []struct {
		name    string
		found   *Record
		version string
		at      int64
		runs    int
		problem Problem
	}{
		{name: "replays", found: live, version: "v"},
		{name: "tells a result that is gone", found: live, version: "v", at: 15, problem: ResultGone},
		{name: "leaves what is not there to the transaction", runs: 1},
		{name: "leaves what is forgotten to the transaction", found: live, version: "v", at: 20, runs: 1},
		{name: "refuses another identity version", found: live, version: "w", problem: ContractChanged},
	} {
		t.Run(tt.name, func(t *testing.T) {
			runs, loads := 0, 0
			d := Driver{
				Glance: func(context.Context, Identity) (Seen, time.Time, error) {
					return Seen{Record: tt.found, IdentityVersion: tt.version}, time.Unix(tt.at, 0), nil
				},
				Load: func(context.Context, Identity) (Seen, time.Time, error) {
					loads++
					return Seen{}, time.Unix(tt.at, 0), nil
				},
			}
			// An allow, which a glance does not see, would let its untimed key run.
			c := &Claim{Policy: Policy{Wait: time.Second, KeyTime: Required}, IdentityVersion: "v"}
			_, _, err := d.Drive(t.Context(), c, func(context.Context) (*Record, bool, error) {
				runs++
				return live, true, nil
			})
			if runs != tt.runs || loads != 0 {
				t.Errorf("%d runs and %d loads, want %d and none", runs, loads, tt.runs)
			}
			if tt.problem == "" && err != nil {
				t.Error(err)
			} else if refusal, _ := err.(*Error); tt.problem != "" && (refusal == nil || refusal.Problem != tt.problem) {
				t.Errorf("error %v, want %s", err, tt.problem)
			}
		})
	}
}

// Duplicates of a call under way wait for it without a look of their own.
func TestDriveSharesWithoutAGlance(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s shelf
		glances := 0
		d := Driver{Load: s.Load, Glance: func(ctx context.Context, id Identity) (Seen, time.Time, error) {
			glances++
			return s.Load(ctx, id)
		}}
		claim := func() *Claim {
			return &Claim{Policy: Policy{Wait: time.Minute, MaxWaiters: 8, ReplayFor: time.Hour, RememberFor: time.Hour}}
		}
		release := make(chan struct{})
		for i := range 5 {
			go func() {
				c := claim()
				_, fresh, err := d.Drive(t.Context(), c, func(ctx context.Context) (*Record, bool, error) {
					<-release
					return s.commit(c)(ctx)
				})
				if err != nil || fresh != (i == 0) {
					t.Errorf("caller %d: fresh %t, %v", i, fresh, err)
				}
			}()
			synctest.Wait()
		}
		close(release)
		synctest.Wait()
		if glances != 1 {
			t.Errorf("%d glances, want the first caller's", glances)
		}
	})
}
