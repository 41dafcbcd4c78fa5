package upkeep_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

// vault is a store that counts, and can be taken back to what it was.
type vault struct {
	upkeep.Retention
	is     upkeep.Incarnation
	fences []upkeep.Fence
}

func (v *vault) Incarnation(context.Context) (upkeep.Incarnation, error) {
	v.is.At = time.Now()
	return v.is, nil
}

func (v *vault) Advance(ctx context.Context) (upkeep.Incarnation, error) {
	v.is.Counter++
	return v.Incarnation(ctx)
}

func (v *vault) Fences(context.Context) ([]upkeep.Fence, error) { return v.fences, nil }

func (v *vault) SetFence(_ context.Context, f upkeep.Fence) (int64, error) {
	if err := f.Check(time.Now()); err != nil {
		return 0, err
	}
	f.ID, f.At = int64(len(v.fences)+1), time.Now()
	v.fences = append(v.fences, f)
	return f.ID, nil
}

// notes is a witness in memory.
type notes struct {
	saved *upkeep.Incarnation
	err   error
}

func (n *notes) Load(context.Context) (upkeep.Incarnation, error) {
	if n.saved == nil || n.err != nil {
		return upkeep.Incarnation{}, errors.Join(n.err, record.ErrNotFound)
	}
	return *n.saved, nil
}

func (n *notes) Save(_ context.Context, i upkeep.Incarnation) error {
	n.saved = &i
	return n.err
}

// TestWatch: a store that came back older, or is another one, is fenced until the
// last save and two intervals; a healthy one never is.
func TestWatch(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		restore func(v *vault, backup upkeep.Incarnation)
		fenced  bool
	}{
		"an older one":     {func(v *vault, backup upkeep.Incarnation) { v.is = backup }, true},
		"one save older":   {func(v *vault, _ upkeep.Incarnation) { v.is.Counter-- }, true},
		"another one":      {func(v *vault, _ upkeep.Incarnation) { v.is.Store, v.is.Counter = "cd", v.is.Counter+1000 }, true},
		"another epoch":    {func(v *vault, _ upkeep.Incarnation) { v.is.Epoch++ }, true},
		"the same, idle":   {func(*vault, upkeep.Incarnation) {}, false},
		"ahead, by others": {func(v *vault, _ upkeep.Incarnation) { v.is.Counter += 7 }, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				v, n := &vault{is: upkeep.Incarnation{Store: "ab", Epoch: 1}}, &notes{}
				w := upkeep.Watch{Store: v, Witness: n}
				running(t, &w, 10*time.Second)
				backup := v.is
				running(t, &w, 10*time.Second)
				last := n.saved.At
				time.Sleep(time.Hour)
				if len(v.fences) != 0 {
					t.Fatalf("a healthy store is fenced: %+v", v.fences)
				}
				tt.restore(v, backup)
				set, err := w.Check(t.Context())
				if err != nil || (set != nil) != tt.fenced || len(v.fences) != len(map[bool][]int{true: {1}}[tt.fenced]) {
					t.Fatalf("Check = %+v, %v; fences %+v", set, err, v.fences)
				}
				if tt.fenced && !set.Until.Equal(last.Add(2*time.Second)) {
					t.Errorf("until %v, the last save was %v", set.Until, last)
				}
				running(t, &w, 10*time.Second)
				if more := len(v.fences); tt.fenced && more != 1 || !tt.fenced && more != 0 {
					t.Errorf("fences %+v", v.fences)
				}
			})
		})
	}
}

func running(t *testing.T, w *upkeep.Watch, long time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), long)
	defer cancel()
	if err := w.Run(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
}

// TestWatchUnderAService: a database that is exchanged while the service runs is
// noticed at the next interval, and fenced once although two processes watch.
func TestWatchUnderAService(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v, n := &vault{is: upkeep.Incarnation{Store: "ab", Epoch: 1}}, &notes{}
		one, other := upkeep.Watch{Store: v, Witness: n}, upkeep.Watch{Store: v, Witness: n}
		for range 5 {
			running(t, &one, 2*time.Second)
			running(t, &other, 2*time.Second)
		}
		v.is.Counter = 1
		var told []upkeep.Fence
		one.Observe = func(set *upkeep.Fence, err error) {
			if set != nil {
				told = append(told, *set)
			}
		}
		running(t, &one, 3*time.Second)
		running(t, &other, 3*time.Second)
		if len(told) != 1 || len(v.fences) != 1 || told[0].Until.After(time.Now()) {
			t.Errorf("told %+v, fences %+v", told, v.fences)
		}
	})
}

// TestWatchUnreadable: a witness that cannot be read fences nothing and is not
// overwritten.
func TestWatchUnreadable(t *testing.T) {
	t.Parallel()
	broken := errors.New("no such disk")
	seen := upkeep.Incarnation{Store: "ab", Epoch: 1, Counter: 9}
	v, n := &vault{is: upkeep.Incarnation{Store: "ab", Epoch: 1}}, &notes{saved: &seen}
	w := upkeep.Watch{Store: v, Witness: failing{n, broken}}
	if set, err := w.Check(t.Context()); !errors.Is(err, broken) || set != nil || *n.saved != seen {
		t.Errorf("Check = %+v, %v; saved %+v", set, err, n.saved)
	}
}

type failing struct {
	*notes
	err error
}

func (f failing) Load(context.Context) (upkeep.Incarnation, error) {
	return upkeep.Incarnation{}, f.err
}
