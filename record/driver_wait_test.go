package record

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

type driven struct {
	rec   *Record
	fresh bool
	err   error
}

// drive starts n callers of c and returns where their answers arrive.
func drive(ctx context.Context, d *Driver, c *Claim, n int, f run) <-chan driven {
	answers := make(chan driven, n)
	for range n {
		go func() {
			rec, fresh, err := d.Drive(ctx, c, f)
			answers <- driven{rec, fresh, err}
		}()
	}
	synctest.Wait()
	return answers
}

func TestDriveCollapsesDuplicates(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s shelf
		d := Driver{Load: s.Load}
		c := claimOf("k")
		runs := 0
		answers := drive(t.Context(), &d, c, crowd, func(ctx context.Context) (*Record, bool, error) {
			runs++ // one at a time: the race detector would tell
			<-time.After(c.Policy.Wait / 4)
			if runs == 1 {
				return nil, false, errors.New("first one fails")
			}
			return s.commit(c)(ctx)
		})
		failed, fresh, replayed := 0, 0, 0
		for range crowd {
			switch a := <-answers; {
			case a.err != nil:
				wantRefusal(t, a.err, "9", StoreUnavailable)
				failed++
			case a.fresh:
				fresh++
			default:
				replayed++
			}
		}
		if runs != 2 || failed != 1 || fresh != 1 || replayed != crowd-2 {
			t.Errorf("%d runs: %d failed, %d fresh, %d replayed", runs, failed, fresh, replayed)
		}
		if n := s.loaded.Load(); n != crowd {
			t.Errorf("%d lookups by %d callers: a waiter asks once", n, crowd)
		}
	})
}

func TestDriveWaiterWithAnotherRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s shelf
		d := Driver{Load: s.Load}
		c, other := claimOf("k"), claimOf("k")
		other.Request.Print = printOf("another order")
		landing := make(chan struct{})
		leader := drive(t.Context(), &d, c, 1, func(ctx context.Context) (*Record, bool, error) {
			<-landing
			return s.commit(c)(ctx)
		})
		waiter := drive(t.Context(), &d, other, 1, never(t))
		close(landing)
		made := <-leader
		refusal := wantRefusal(t, (<-waiter).err, "4", KeyReused)
		if refusal.Ref != made.rec.Ref {
			t.Errorf("conflict with %s, want %s", refusal.Ref, made.rec.Ref)
		}
	})
}

// TestDriveLeaderWithAnotherRequest: the leader lost its race to another
// process's record, which only the waiters remember rightly.
func TestDriveLeaderWithAnotherRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s shelf
		d := Driver{Load: s.Load}
		c, right := claimOf("k"), claimOf("k")
		c.Request.Print = printOf("another order")
		landing := make(chan struct{})
		rec := right.Begin(time.Now())
		rec.Settle(Result{}, time.Now(), policy())
		leader := drive(t.Context(), &d, c, 1, func(context.Context) (*Record, bool, error) {
			<-landing
			decision := Decide(c.Policy, Seen{Record: rec}, c.Request, time.Now())
			return nil, false, Refusal(decision, Seen{Record: rec}, c, time.Now())
		})
		waiter := drive(t.Context(), &d, right, 1, never(t))
		close(landing)
		wantRefusal(t, (<-leader).err, "4", KeyReused)
		if got := <-waiter; got.err != nil || got.rec != rec || got.fresh {
			t.Errorf("the waiter got %+v", got)
		}
	})
}

// TestDriveSharedRecordPastItsMemory: a waiter's clock can be past the memory of
// the record it is given; it must neither run on that nor answer without a problem.
func TestDriveSharedRecordPastItsMemory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s shelf
		d := Driver{Load: s.Load}
		c := claimOf("k")
		old := c.Begin(time.Now().Add(-48 * time.Hour))
		old.Settle(Result{}, time.Now().Add(-48*time.Hour), c.Policy)
		landing := make(chan struct{})
		leader := drive(t.Context(), &d, c, 1, func(context.Context) (*Record, bool, error) { <-landing; return old, false, nil })
		waiter := drive(t.Context(), &d, c, 1, never(t))
		close(landing)
		<-leader
		wantRefusal(t, (<-waiter).err, "6a", InProgress)
	})
}

func TestDriveWaitersAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s shelf
		d := Driver{Load: s.Load}
		c := claimOf("k")
		c.Policy.MaxWaiters = 3
		landing := make(chan struct{})
		answers := drive(t.Context(), &d, c, 5, func(ctx context.Context) (*Record, bool, error) { <-landing; return s.commit(c)(ctx) })
		if len(answers) != 1 {
			t.Fatalf("%d callers answered, want the one too many", len(answers))
		}
		if e := wantRefusal(t, (<-answers).err, "6a", InProgress); e.RetryAfter != time.Second || e.Record != nil {
			t.Errorf("Retry-After %v, record %v", e.RetryAfter, e.Record)
		}
		close(landing)
		for range 4 {
			if got := <-answers; got.err != nil {
				t.Errorf("a caller within the bound: %v", got.err)
			}
		}
	})
}

func TestDriveLeaderPanics(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s shelf
		d := Driver{Load: s.Load}
		c := claimOf("k")
		landing, caught := make(chan struct{}), make(chan any, 1)
		go func() {
			defer func() { caught <- recover() }()
			_, _, _ = d.Drive(t.Context(), c, func(context.Context) (*Record, bool, error) { <-landing; panic("effect") })
		}()
		synctest.Wait()
		answers := drive(t.Context(), &d, c, 3, s.commit(c))
		close(landing)
		if got := <-caught; got != "effect" {
			t.Errorf("recovered %v, want the effect's own panic", got)
		}
		fresh := 0
		for range 3 {
			got := <-answers
			if got.err != nil {
				t.Fatal(got.err)
			}
			if got.fresh {
				fresh++
			}
		}
		if fresh != 1 || len(d.flights.open) != 0 {
			t.Errorf("%d took over, %d flights open", fresh, len(d.flights.open))
		}
	})
}

// TestDrivePollsAnotherProcess: the claim is held elsewhere, nothing of it is visible.
func TestDrivePollsAnotherProcess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s shelf
		s.held.Store(true)
		d := Driver{Load: s.Load}
		c := claimOf("k")

		started := time.Now()
		answers := drive(t.Context(), &d, c, 1, never(t))
		wantRefusal(t, (<-answers).err, "6a", InProgress)
		if took := time.Since(started); took != c.Policy.Wait {
			t.Errorf("waited %v, want %v", took, c.Policy.Wait)
		}
		if n := s.loaded.Load(); n < 10 || n > 40 {
			t.Errorf("%d lookups in %v, want a curve from %v to %v", n, c.Policy.Wait, pollFirst, pollMost)
		}

		answers = drive(t.Context(), &d, c, 1, never(t))
		<-time.After(c.Policy.Wait / 2)
		made, _, _ := s.commit(c)(t.Context())
		s.held.Store(false)
		if got := <-answers; got.err != nil || got.fresh || got.rec != made {
			t.Errorf("the waiter got %+v, want the other process's record", got)
		}

		s.rec.Store(nil)
		s.held.Store(true)
		answers = drive(t.Context(), &d, c, 1, s.commit(c))
		<-time.After(c.Policy.Wait / 2)
		s.held.Store(false) // freed without a record
		if got := <-answers; got.err != nil || !got.fresh {
			t.Errorf("the waiter got %+v, want to run", got)
		}
	})
}

func TestDriveDoesNotWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s shelf
		s.held.Store(true)
		d := Driver{Load: s.Load}
		c := claimOf("k")
		c.Policy.Wait = 0
		started := time.Now()
		_, _, err := d.Drive(t.Context(), c, never(t))
		wantRefusal(t, err, "6a", InProgress)
		if took := time.Since(started); took != 0 || s.loaded.Load() != 1 {
			t.Errorf("waited %v with %d lookups", took, s.loaded.Load())
		}
		s.held.Store(false)
		if _, fresh, err := d.Drive(t.Context(), c, s.commit(c)); err != nil || !fresh {
			t.Errorf("a first caller needs no time to wait: %v", err)
		}
	})
}

func TestDriveCallerLeavesWhileWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s shelf
		d := Driver{Load: s.Load}
		c := claimOf("k")
		ctx, cancel := context.WithCancel(t.Context())
		landing := make(chan struct{})
		leader := drive(t.Context(), &d, c, 1, func(ctx context.Context) (*Record, bool, error) { <-landing; return s.commit(c)(ctx) })
		waiter := drive(ctx, &d, c, 1, never(t))
		cancel()
		wantRefusal(t, (<-waiter).err, "6a", InProgress)
		close(landing)
		if got := <-leader; got.err != nil || !got.fresh {
			t.Errorf("the leader got %+v", got)
		}
	})
}

func TestDriveAnswersUnfinishedRecords(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s shelf
		d := Driver{Load: s.Load}
		c := claimOf("k")
		s.rec.Store(submitted(time.Now().Add(time.Hour)))
		_, _, err := d.Drive(t.Context(), c, never(t))
		if e := wantRefusal(t, err, "6", InProgress); e.State != Submitted || e.Ref == "" {
			t.Errorf("told %+v", e)
		}
		c.Policy.Async = true
		rec, fresh, err := d.Drive(t.Context(), c, never(t))
		if err != nil || fresh || rec.State != Submitted {
			t.Errorf("under Async: %v, fresh %t, %v", rec, fresh, err)
		}
	})
}
