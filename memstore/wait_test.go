package memstore_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/memstore"
	"github.com/refrain-dev/refrain/upkeep"
)

// TestWaitForWriterIsRow9: a call whose wait for the running transaction ends
// has executed nothing and says so.
func TestWaitForWriterIsRow9(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := memstore.New(memstore.Options{})
		tx, err := db.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		started := time.Now()
		_, err = db.Execute(ctx, call("k"), writes("a"))
		var refusal *refrain.Error
		if !errors.As(err, &refusal) || refusal.Row != "9" || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Execute behind another writer: %v, want row 9", err)
		}
		if waited := time.Since(started); waited != 3*time.Second {
			t.Errorf("it waited %v", waited)
		}
		if err := tx.Commit(); err != nil || len(keys(db)) != 0 {
			t.Errorf("Commit: %v, rows %v", err, keys(db))
		}
		if _, err := db.Execute(t.Context(), call("k"), writes("a")); err != nil {
			t.Error(err)
		}
	})
}

// TestHeldByACallersTransaction: others wait for the caller's COMMIT as long as
// their contract says, and are then told in-progress or get the result.
func TestHeldByACallersTransaction(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := memstore.New(memstore.Options{})
		tx, err := db.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		out, err := db.ExecuteIn(t.Context(), tx, call("k"), writes("a"))
		if err != nil {
			t.Fatal(err)
		}
		started := time.Now()
		_, err = db.Execute(t.Context(), call("k"), writes("b"))
		var refusal *refrain.Error
		if !errors.As(err, &refusal) || refusal.Row != "6a" || !errors.Is(err, refrain.ErrInProgress) {
			t.Errorf("Execute of a held identity: %v, want row 6a", err)
		}
		if waited := time.Since(started); waited != refrain.DefaultWait {
			t.Errorf("it waited %v, want %v", waited, refrain.DefaultWait)
		}
		type answer struct {
			out refrain.Outcome
			err error
		}
		late := make(chan answer, 1)
		go func() {
			out, err := db.Execute(t.Context(), call("k"), writes("b"))
			late <- answer{out, err}
		}()
		synctest.Wait()
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		if got := <-late; got.err != nil || !got.out.Replayed || got.out.Ref != out.Ref {
			t.Errorf("after the COMMIT: %+v, want a replay of %s", got, out.Ref)
		}
		if got := keys(db); len(got) != 1 {
			t.Errorf("rows %v, want one", got)
		}
	})
}

// TestMaxExecution in bubble time: row 14 comes after the bound, its Retry-After
// grows with each strike.
func TestMaxExecution(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := memstore.New(memstore.Options{})
		want := []time.Duration{15 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 0}
		for strike, delay := range want {
			started := time.Now()
			_, err := db.Execute(t.Context(), call("k"), func(ctx context.Context, tx memstore.Tx) (refrain.Result, error) {
				_ = tx.Put("orders", "a", nil)
				<-ctx.Done()
				return refrain.Result{}, ctx.Err()
			})
			var refusal *refrain.Error
			if !errors.As(err, &refusal) || refusal.Row != "14" || refusal.RetryAfter != delay || refusal.Final != (delay == 0) {
				t.Errorf("strike %d: %+v, want row 14 and %v", strike+1, refusal, delay)
			}
			if took := time.Since(started); took != refrain.DefaultMaxExecution {
				t.Errorf("strike %d took %v", strike+1, took)
			}
		}
		if len(keys(db)) != 0 {
			t.Errorf("rows %v, want none", keys(db))
		}
	})
}

// TestFlights in bubble time: all 63 others wait in the flight before its leader
// fails; one takes over, the rest share its record.
func TestFlights(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := memstore.New(memstore.Options{})
		release := make(chan struct{})
		runs, fresh, failed := 0, 0, 0
		type answer struct {
			out refrain.Outcome
			err error
		}
		answers := make(chan answer, 64)
		for range 64 {
			go func() {
				out, err := db.Execute(t.Context(), call("k"), func(ctx context.Context, tx memstore.Tx) (refrain.Result, error) {
					runs++
					if runs == 1 {
						<-release
						return refrain.Result{}, errors.New("the leader fails")
					}
					return writes("a")(ctx, tx)
				})
				answers <- answer{out, err}
			}()
		}
		synctest.Wait()
		close(release)
		for range 64 {
			switch a := <-answers; {
			case a.err != nil:
				failed++
			case !a.out.Replayed:
				fresh++
			}
		}
		if runs != 2 || fresh != 1 || failed != 1 {
			t.Errorf("%d runs, %d fresh, %d failed; want 2, 1, 1", runs, fresh, failed)
		}
	})
}

// TestFenceSetMeanwhile: a call that was free to run when it looked, and waits
// for its turn behind a new fence, is refused there and kept for review once.
func TestFenceSetMeanwhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := memstore.New(memstore.Options{})
		tx, err := db.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		fenced, executed := make(chan error, 1), make(chan error, 1)
		go func() {
			_, err := db.SetFence(t.Context(), restored(time.Now()))
			fenced <- err
		}()
		synctest.Wait()
		go func() {
			_, err := db.Execute(t.Context(), call("k"), writes("a"))
			executed <- err
		}()
		synctest.Wait()
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
		if err := <-fenced; err != nil {
			t.Fatal(err)
		}
		if err := <-executed; !errors.Is(err, refrain.ErrTooLate) {
			t.Errorf("Execute behind a new fence: %v, want ErrTooLate", err)
		}
		if reviews, err := db.Reviews(t.Context(), upkeep.ReviewQuery{}); err != nil || len(reviews) != 1 || reviews[0].Count != 1 {
			t.Errorf("reviews are %+v, want one refusal", reviews)
		}
		if len(keys(db)) != 0 {
			t.Errorf("rows %v, want none", keys(db))
		}
	})
}
