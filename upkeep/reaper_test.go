package upkeep_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/upkeep"
)

// backlog is a store with something due, in which a record takes a millisecond.
type backlog struct {
	upkeep.Retention
	due    int
	limits []int
	at     []time.Duration // when each batch began
	began  time.Time
	fail   func(batch int) error
}

func (b *backlog) Reap(_ context.Context, r upkeep.Reap) (upkeep.Reaped, error) {
	b.limits, b.at = append(b.limits, r.Limit), append(b.at, time.Since(b.began))
	if b.fail != nil {
		if err := b.fail(len(b.limits)); err != nil {
			return upkeep.Reaped{}, err
		}
	}
	n := min(r.Limit, b.due)
	time.Sleep(time.Duration(n) * time.Millisecond)
	b.due -= n
	return upkeep.Reaped{Looked: n, Forgotten: n, Lag: time.Duration(n) * time.Hour, More: b.due > 0}, nil
}

// TestReaperPaces: it works a quarter of its time, and makes batches that take long
// smaller.
func TestReaperPaces(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &backlog{due: 2000, began: time.Now()}
		done, err := (&upkeep.Reaper{Store: b}).Once(t.Context())
		if err != nil || done.Forgotten != 2000 || done.Lag != 1000*time.Hour || done.More {
			t.Errorf("%+v, %v", done, err)
		}
		if want := []int{1000, 500, 250, 250}; !reflect.DeepEqual(b.limits, want) {
			t.Errorf("limits %v, want %v", b.limits, want)
		}
		want := []time.Duration{0, 4 * time.Second, 6 * time.Second, 7 * time.Second}
		if !reflect.DeepEqual(b.at, want) {
			t.Errorf("batches at %v, want %v", b.at, want)
		}
	})
}

// TestReaperDoesNotRest where it is told not to, and grows its batches again.
func TestReaperDoesNotRest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &backlog{due: 120, began: time.Now()}
		var told []upkeep.Progress
		r := upkeep.Reaper{Store: b, Rest: -1, Batch: upkeep.Reap{Limit: 40}, Observe: func(p upkeep.Progress) { told = append(told, p) }}
		if _, err := r.Once(t.Context()); err != nil || time.Since(b.began) != 120*time.Millisecond {
			t.Errorf("%v after %v", err, time.Since(b.began))
		}
		if len(told) != 3 || told[1].Total.Forgotten != 80 || told[1].Forgotten != 40 || told[1].Took != 40*time.Millisecond {
			t.Errorf("told %+v", told)
		}
	})
}

// TestReaperRuns: it looks again when nothing was due, goes on after an error at
// growing intervals, and ends with its context.
func TestReaperRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("away")
		b := &backlog{began: time.Now(), fail: func(batch int) error {
			if batch == 2 || batch == 3 {
				return broken
			}
			return nil
		}}
		var errs []error
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		r := upkeep.Reaper{Store: b, Every: 2 * time.Minute, Observe: func(p upkeep.Progress) { errs = append(errs, p.Err) }}
		if err := r.Run(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Run = %v", err)
		}
		if len(errs) != len(b.at) || len(errs) < 5 || errs[0] != nil || !errors.Is(errs[1], broken) || !errors.Is(errs[2], broken) || errs[3] != nil {
			t.Fatalf("told %v", errs)
		}
		if b.at[1] != 2*time.Minute || b.at[3]-b.at[1] > time.Minute || b.at[4]-b.at[3] != 2*time.Minute {
			t.Errorf("batches at %v", b.at)
		}
	})
}

// TestReaperEnds on a database that is not migrated: it would never become so by
// asking.
func TestReaperEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &backlog{fail: func(int) error { return fmt.Errorf("reap: %w", refrain.ErrNotMigrated) }}
		if err := (&upkeep.Reaper{Store: b}).Run(t.Context()); !errors.Is(err, refrain.ErrNotMigrated) {
			t.Errorf("Run = %v", err)
		}
	})
}
