package record

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

type run = func(context.Context) (*Record, bool, error)

// shelf is a Load over one record that tests put in and take out.
type shelf struct {
	rec    atomic.Pointer[Record]
	held   atomic.Bool
	loaded atomic.Int32
}

func (s *shelf) Load(context.Context, Identity) (Seen, time.Time, error) {
	s.loaded.Add(1)
	return Seen{Record: s.rec.Load(), Held: s.held.Load()}, time.Now(), nil
}

// commit is a run whose effect succeeds.
func (s *shelf) commit(c *Claim) run {
	return func(context.Context) (*Record, bool, error) {
		rec := c.Begin(time.Now())
		rec.Settle(Result{Status: 201, Body: []byte("made")}, time.Now(), c.Policy)
		s.rec.Store(rec)
		return rec, true, nil
	}
}

func never(t *testing.T) run {
	return func(context.Context) (*Record, bool, error) {
		t.Error("the effect ran")
		return nil, false, errors.New("must not run")
	}
}

// wantRefusal asserts a refusal by row and problem and returns it.
func wantRefusal(t *testing.T, err error, row string, problem Problem) *Error {
	t.Helper()
	var refusal *Error
	if !errors.As(err, &refusal) {
		t.Fatalf("error %v, want row %s, %s", err, row, problem)
	}
	if refusal.Row != row || refusal.Problem != problem {
		t.Errorf("row %s, %s; want row %s, %s", refusal.Row, refusal.Problem, row, problem)
	}
	return refusal
}

func TestDriveRunsThenReplays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s shelf
		d := Driver{Load: s.Load}
		c := claimOf("k")
		first, fresh, err := d.Drive(t.Context(), c, s.commit(c))
		if err != nil || !fresh {
			t.Fatalf("first: %v, fresh %t", err, fresh)
		}
		again, fresh, err := d.Drive(t.Context(), c, never(t))
		if err != nil || fresh || again.Ref != first.Ref {
			t.Errorf("second: %v, fresh %t, %v", again, fresh, err)
		}
		other := claimOf("k")
		other.Request.Print = printOf("another order")
		_, _, err = d.Drive(t.Context(), other, never(t))
		refusal := wantRefusal(t, err, "4", KeyReused)
		if refusal.Ref != first.Ref || refusal.State != 0 || refusal.Effect != "" {
			t.Errorf("another request is told %+v", refusal)
		}
	})
}

func TestDriveTakesNoFailureForAMiss(t *testing.T) {
	t.Parallel()
	cause := errors.New("disk on fire")
	tests := []struct {
		name    string
		err     error
		row     string
		problem Problem
	}{
		{"store error", cause, "9", StoreUnavailable},
		{"timeout", context.DeadlineExceeded, "9", StoreUnavailable},
		{"not found", ErrNotFound, "9", StoreUnavailable},
		{"newer format", ErrNewerFormat, "9", StoreUnavailable},
		{"unreadable", RecordUnreadable, "16", RecordUnreadable},
		{"a refusal stays", &Error{Problem: ContractChanged, Row: "9"}, "9", ContractChanged},
	}
	for _, tt := range tests {
		d := Driver{Load: func(context.Context, Identity) (Seen, time.Time, error) { return Seen{}, now, tt.err }}
		_, _, err := d.Drive(t.Context(), claimOf("k"), never(t))
		refusal := wantRefusal(t, err, tt.row, tt.problem)
		if !errors.Is(err, tt.err) {
			t.Errorf("%s: %v does not wrap its cause", tt.name, err)
		}
		if tt.problem == StoreUnavailable && refusal.RetryAfter <= 0 {
			t.Errorf("%s: no Retry-After", tt.name)
		}
		if tt.problem == RecordUnreadable && refusal.RetryAfter != 0 {
			t.Errorf("%s: Retry-After %v invites a retry in vain", tt.name, refusal.RetryAfter)
		}

		// The same from inside the engine's transaction.
		var s shelf
		inside := Driver{Load: s.Load}
		_, _, err = inside.Drive(t.Context(), claimOf("k"), func(context.Context) (*Record, bool, error) { return nil, false, tt.err })
		wantRefusal(t, err, tt.row, tt.problem)
	}
	if Unavailable(nil) != nil {
		t.Error("no error is unavailable")
	}
}

func TestDriveInsideAnEffect(t *testing.T) {
	t.Parallel()
	var s shelf
	d := Driver{Load: s.Load}
	outer, inner := claimOf("outer"), claimOf("inner")
	_, _, err := d.Drive(t.Context(), outer, func(ctx context.Context) (*Record, bool, error) {
		ctx, cancel := outer.Bound(ctx, outer.Begin(now))
		defer cancel()
		_, _, err := d.Drive(ctx, inner, never(t))
		return nil, false, err
	})
	if !errors.Is(err, ErrNested) {
		t.Errorf("nested: %v, want ErrNested", err)
	}
	if n := s.loaded.Load(); n != 1 {
		t.Errorf("%d lookups, want the outer one alone", n)
	}
}

func TestDriveStrikes(t *testing.T) {
	t.Parallel()
	var s shelf
	d := Driver{Load: s.Load}
	c := claimOf("k")
	overrun := func(context.Context) (*Record, bool, error) {
		return nil, false, &Error{Problem: NotExecuted, Row: "14"}
	}
	strike := func() *Error {
		t.Helper()
		_, _, err := d.Drive(t.Context(), c, overrun)
		return wantRefusal(t, err, "14", NotExecuted)
	}
	for i, want := range []time.Duration{15, 30, 60, 120} {
		if e := strike(); e.RetryAfter != want*time.Second || !e.Retryable() {
			t.Errorf("strike %d: after %v, retryable %t", i+1, e.RetryAfter, e.Retryable())
		}
	}
	for range 2 {
		if e := strike(); !e.Final || e.Retryable() || e.RetryAfter != 0 {
			t.Errorf("strike 5 and on: after %v, retryable %t", e.RetryAfter, e.Retryable())
		}
	}
	if _, _, err := d.Drive(t.Context(), c, s.commit(c)); err != nil {
		t.Fatal(err)
	}
	s.rec.Store(nil)
	if e := strike(); e.RetryAfter != 15*time.Second || !e.Retryable() {
		t.Errorf("after a success: after %v, retryable %t", e.RetryAfter, e.Retryable())
	}
}

func TestDriveReviewsLateRetries(t *testing.T) {
	t.Parallel()
	horizon := now.Add(time.Minute)
	load := func(context.Context, Identity) (Seen, time.Time, error) { return Seen{Horizon: horizon}, now, nil }
	c := claimOf(uuidv7(now))
	failure := errors.New("review is full")
	var told []*Claim
	d := Driver{Load: load, Change: func(_ context.Context, id Identity, decide func(Seen, time.Time) (Edit, error)) error {
		edit, err := decide(Seen{Horizon: horizon}, now)
		if err != nil || id != c.Identity || edit.Put != nil || edit.Remove {
			t.Errorf("the change of %v is %+v, %v", id, edit, err)
		}
		told = append(told, edit.Review)
		return failure
	}}
	_, _, err := d.Drive(t.Context(), c, never(t))
	refusal := wantRefusal(t, err, "2", TooLate)
	if len(told) != 1 || told[0] != c {
		t.Errorf("kept for review %d times", len(told))
	}
	if !errors.Is(err, failure) {
		t.Errorf("%v does not say that the review failed", err)
	}
	if want := now.Truncate(time.Millisecond); !refusal.Born.Equal(want) || !refusal.Now.Equal(now) {
		t.Errorf("born %v at %v, want %v at %v", refusal.Born, refusal.Now, want, now)
	}

	done := receipt(Result{Effect: "/orders/7"})
	d.Change = func(_ context.Context, _ Identity, decide func(Seen, time.Time) (Edit, error)) error {
		if edit, err := decide(Seen{Record: done, Horizon: horizon}, now); err != nil || edit != (Edit{}) {
			t.Errorf("of what was settled meanwhile the change is %+v, %v", edit, err)
		}
		return nil
	}
	_, _, err = d.Drive(t.Context(), c, never(t))
	wantRefusal(t, err, "2", TooLate)

	told = nil
	future := claimOf(uuidv7(now.Add(time.Hour)))
	d.Load = func(context.Context, Identity) (Seen, time.Time, error) { return Seen{}, now, nil }
	_, _, err = d.Drive(t.Context(), future, never(t))
	if refusal = wantRefusal(t, err, "2b", KeyFromFuture); refusal.Born.IsZero() || len(told) != 0 {
		t.Errorf("born %v, %d reviews", refusal.Born, len(told))
	}

	d = Driver{Load: load} // without Change: refused all the same
	_, _, err = d.Drive(t.Context(), c, never(t))
	wantRefusal(t, err, "2", TooLate)
}

func TestRefusal(t *testing.T) {
	t.Parallel()
	rec := receipt(Result{Effect: "/orders/7"})
	seen := Seen{Record: rec}
	c := claimOf(uuidv7(now))
	tests := []struct {
		row      string
		problem  Problem
		record   bool // shows the record's ref
		detail   bool // and its state and effect
		retry    time.Duration
		withBorn bool
	}{
		{"2", TooLate, false, false, 0, true},
		{"2b", KeyFromFuture, false, false, 0, true},
		{"2c", Recovering, false, false, time.Minute, true},
		{"4", KeyReused, true, false, 0, false},
		{"5", ResultGone, true, true, 0, false},
		{"6", InProgress, true, true, time.Second, false},
		{"7", OutcomeUnknown, true, true, time.Second, false},
		{"11", KeyInvalid, false, false, 0, false},
		{"12", PrincipalUnproven, false, false, time.Second, false},
		{"13", BodyTooLarge, false, false, 0, false},
	}
	for _, tt := range tests {
		e := Refusal(Decision{Row: tt.row, Action: Refuse, Problem: tt.problem}, seen, c, now)
		if e.Row != tt.row || e.Problem != tt.problem || !e.Now.Equal(now) {
			t.Errorf("row %s is answered as %+v", tt.row, e)
		}
		if (e.Record == rec) != tt.record || (e.Ref == rec.Ref) != tt.record {
			t.Errorf("row %s shows record %v, ref %q", tt.row, e.Record, e.Ref)
		}
		if (e.State == Confirmed) != tt.detail || (e.Effect == "/orders/7") != tt.detail {
			t.Errorf("row %s shows state %v, effect %q", tt.row, e.State, e.Effect)
		}
		if e.RetryAfter != tt.retry || e.Born.IsZero() == tt.withBorn {
			t.Errorf("row %s: Retry-After %v, born %v", tt.row, e.RetryAfter, e.Born)
		}
	}
}

// TestDriveExpireEnds: a store that hangs while a past lease is written does not
// keep the caller for ever.
func TestDriveExpireEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s shelf
		c := leased()
		rec := c.Begin(time.Now())
		s.rec.Store(rec) // its lease is past
		d := Driver{Load: s.Load, Change: func(ctx context.Context, _ Identity, _ func(Seen, time.Time) (Edit, error)) error {
			<-ctx.Done()
			return ctx.Err()
		}}
		_, _, err := d.Drive(context.Background(), c, never(t))
		wantRefusal(t, err, "9", StoreUnavailable)
	})
}
