package memstore_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/memstore"
	"github.com/refrain-dev/refrain/upkeep"
)

var dawn = time.Date(2026, time.May, 4, 6, 0, 0, 0, time.UTC)

func restored(until time.Time) upkeep.Fence {
	return upkeep.Fence{Until: until, Reason: "restored from the night's backup", By: "operator"}
}

// TestFenceHoldsAJoinedCall as it does one of its own, and its review outlives the
// caller's transaction.
func TestFenceHoldsAJoinedCall(t *testing.T) {
	t.Parallel()
	db := memstore.New(memstore.Options{Now: func() time.Time { return dawn }})
	id, err := db.SetFence(t.Context(), restored(dawn))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Execute(t.Context(), call("k"), writes("a")); !errors.Is(err, refrain.ErrTooLate) {
		t.Errorf("Execute under the fence: %v, want ErrTooLate", err)
	}
	if err := db.Update(t.Context(), func(tx memstore.Tx) error {
		_, err := db.ExecuteIn(t.Context(), tx, call("k"), writes("a"))
		return err
	}); !errors.Is(err, refrain.ErrTooLate) {
		t.Errorf("ExecuteIn under the fence: %v, want ErrTooLate", err)
	}
	if reviews, err := db.Reviews(t.Context(), upkeep.ReviewQuery{}); err != nil || len(reviews) != 1 || reviews[0].Count != 2 {
		t.Errorf("reviews are %+v, %v; want both refusals of one identity", reviews, err)
	}
	if err := db.EndFence(t.Context(), id, "operator", "reviewed"); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Execute(t.Context(), call("k"), writes("a")); err != nil {
		t.Errorf("Execute after the fence was ended: %v", err)
	}
}

// TestReviewsAreCapped per scope; the refusal is the same beyond the cap.
func TestReviewsAreCapped(t *testing.T) {
	t.Parallel()
	db := memstore.New(memstore.Options{Now: func() time.Time { return dawn }, MaxReviews: 3})
	if _, err := db.SetFence(t.Context(), restored(dawn)); err != nil {
		t.Fatal(err)
	}
	for _, tenant := range []string{"north", "south"} {
		for i := range 10 {
			late := call(fmt.Sprint("k", i%5))
			late.Scope = refrain.Tenant(tenant)
			if _, err := db.Execute(t.Context(), late, writes("a")); !errors.Is(err, refrain.ErrTooLate) {
				t.Errorf("%s: %v, want ErrTooLate", tenant, err)
			}
		}
	}
	reviews, err := db.Reviews(t.Context(), upkeep.ReviewQuery{})
	if err != nil || len(reviews) != 6 {
		t.Fatalf("%d reviews, %v; want 3 in each scope", len(reviews), err)
	}
	for _, r := range reviews {
		if r.Count != 2 || !r.First.Equal(dawn) || !r.Last.Equal(dawn) {
			t.Errorf("review %+v", r)
		}
	}
}

type observed struct {
	mu     sync.Mutex
	events []refrain.Event
}

func (o *observed) Observe(_ context.Context, e refrain.Event) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.events = append(o.events, e)
}

func TestObserver(t *testing.T) {
	t.Parallel()
	obs := &observed{}
	db := memstore.New(memstore.Options{Observer: obs})
	for range 2 {
		if _, err := db.Execute(t.Context(), call("k"), writes("a")); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Update(t.Context(), func(tx memstore.Tx) error {
		_, err := db.ExecuteIn(t.Context(), tx, call("k"), writes("a"))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	_ = db.Close()
	_, _ = db.Execute(t.Context(), call("k"), writes("a"))
	var rows []string
	for _, e := range obs.events {
		rows = append(rows, e.Row)
	}
	if got, want := fmt.Sprint(rows), "[1 3 3 9]"; got != want {
		t.Errorf("observed rows %s, want %s", got, want)
	}
}

func TestCloseFailsARunningTransaction(t *testing.T) {
	t.Parallel()
	db := memstore.New(memstore.Options{})
	_, err := db.Execute(t.Context(), call("k"), func(ctx context.Context, tx memstore.Tx) (refrain.Result, error) {
		_ = db.Close()
		return writes("a")(ctx, tx)
	})
	if !errors.Is(err, memstore.ErrClosed) || !errors.Is(err, refrain.ErrUnavailable) {
		t.Errorf("Execute: %v, want ErrClosed", err)
	}
	if len(keys(db)) != 0 {
		t.Errorf("rows %v were committed", keys(db))
	}
}

func TestRegisterKeepsThePublishedForm(t *testing.T) {
	t.Parallel()
	db := memstore.New(memstore.Options{})
	longer := contract
	longer.RememberFor *= 2
	for _, c := range []refrain.Contract{contract, longer} {
		if err := db.Register(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		want, err := c.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := db.Contracts(t.Context()); err != nil || len(got) != 1 || got[c.Operation] != string(want) {
			t.Errorf("Contracts = %v, %v; want %s", got, err, want)
		}
	}
}

func TestHorizon(t *testing.T) {
	t.Parallel()
	now := dawn
	db := memstore.New(memstore.Options{Now: func() time.Time { return now }})
	const key = "019df192-7300-7000-8000-000000000001" // a UUIDv7
	if _, err := db.Execute(t.Context(), call(key), writes("a")); err != nil {
		t.Fatal(err)
	}
	now = now.Add(contract.RememberFor)
	if done, err := db.Reap(t.Context(), upkeep.Reap{}); done.Forgotten != 1 || err != nil {
		t.Fatalf("Reap = %+v, %v", done, err)
	}
	born, _ := contract.KeyTime.Birth(key)
	if horizon, err := db.Horizon(t.Context(), contract.Operation); err != nil || !horizon.Equal(born) {
		t.Errorf("Horizon = %v, %v; want %v", horizon, err, born)
	}
	if horizon, err := db.Horizon(t.Context(), "unheard"); err != nil || !horizon.IsZero() {
		t.Errorf("Horizon of an unheard operation = %v, %v", horizon, err)
	}
}
