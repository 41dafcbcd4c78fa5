package sqlite

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
)

// Between the delete and its COMMIT nobody sees the one without the other: the
// record, or the horizon that forgetting it raised.
func TestForgetParked(t *testing.T) {
	now := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	var ahead atomic.Int64
	db := openShop(t, Options{Now: func() time.Time { return now.Add(time.Duration(ahead.Load())) }})
	timed := call("01938e85-1000-7000-8000-000000000001") // a UUIDv7 of November 2024
	if err := run(db, timed, put("timed")); err != nil {
		t.Fatal(err)
	}
	ahead.Store(int64(3 * time.Hour)) // past the memory
	claim, err := timed.Claim()
	if err != nil {
		t.Fatal(err)
	}
	parked, released := make(chan struct{}), make(chan struct{})
	db.parked = func() {
		close(parked)
		<-released
	}
	forgotten := make(chan error, 1)
	go func() {
		n, err := db.Forget(t.Context(), 10)
		if n != 1 {
			err = errors.Join(err, errors.New("nothing forgotten"))
		}
		forgotten <- err
	}()
	<-parked
	seen, _, err := db.Load(t.Context(), claim.Identity)
	if err != nil || seen.Record == nil || !seen.Horizon.IsZero() {
		t.Errorf("while parked: record %v, horizon %v, %v", seen.Record, seen.Horizon, err)
	}
	ran := 0
	refused := make(chan error, 1)
	go func() { refused <- run(db, timed, counted(&ran, put("again"))) }() // also looks, then stores its review behind the reaper
	awaitQueue(t, db, 1)
	close(released)
	if err := <-forgotten; err != nil {
		t.Error(err)
	}
	wantRow(t, <-refused, "2", refrain.ErrTooLate)
	seen, _, err = db.Load(t.Context(), claim.Identity)
	if err != nil || seen.Record != nil || seen.Horizon.IsZero() {
		t.Errorf("afterwards: record %v, horizon %v, %v", seen.Record, seen.Horizon, err)
	}
	wantRow(t, run(db, timed, counted(&ran, put("again"))), "2", refrain.ErrTooLate)
	equal(t, "runs", ran, 0)
	wantItems(t, db, "timed")
}
