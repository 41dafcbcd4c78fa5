package record

import (
	"testing"
	"time"
)

func TestSettle(t *testing.T) {
	t.Parallel()
	elsewhere := time.FixedZone("elsewhere", 3*60*60)
	at := now.In(elsewhere).Add(999 * time.Nanosecond)
	p := policy()
	p.ReplayFor += 1999 * time.Nanosecond
	for _, rejected := range []bool{false, true} {
		rec := &Record{Ref: "op_x", Version: 1, State: Submitted, Created: now.Add(-time.Hour)}
		rec.Settle(Result{Status: 201, Body: []byte("b"), Rejected: rejected}, at, p)
		want := Confirmed
		if rejected {
			want = Rejected
		}
		if rec.State != want || rec.Result.Status != 201 || string(rec.Result.Body) != "b" {
			t.Errorf("settled as %s with %+v", rec.State, rec.Result)
		}
		if rec.Final != now {
			t.Errorf("final at %v, want %v", rec.Final, now)
		}
		if want := now.Add(time.Hour + time.Microsecond); rec.ReplayUntil != want {
			t.Errorf("replay until %v, want %v", rec.ReplayUntil, want)
		}
		// The memory runs from the instant of finality, not of creation.
		if want := now.Add(24 * time.Hour); rec.RememberUntil != want {
			t.Errorf("remembered until %v, want %v", rec.RememberUntil, want)
		}
	}
}

func TestMicro(t *testing.T) {
	t.Parallel()
	in := time.Date(2026, 1, 1, 1, 0, 0, 1999, time.FixedZone("", 3600))
	if got, want := Micro(in), time.Date(2026, 1, 1, 0, 0, 0, 1000, time.UTC); got != want {
		t.Errorf("Micro(%v) = %v, want %v", in, got, want)
	}
}
