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

// exchanged is a store that is taken back to a backup between the look and the
// save of one interval.
type exchanged struct {
	*vault
	backup upkeep.Incarnation
	at     int // the look after which it is
}

func (e *exchanged) Incarnation(ctx context.Context) (upkeep.Incarnation, error) {
	is, err := e.vault.Incarnation(ctx)
	if e.at--; e.at == 0 {
		e.vault.is = e.backup
	}
	return is, err
}

// TestWatchExchangedAtOnce: a save does not hide what happened right before it.
func TestWatchExchangedAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := &exchanged{vault: &vault{is: upkeep.Incarnation{Store: "ab", Epoch: 1}}, at: 15}
		n := new(notes)
		w := upkeep.Watch{Store: e, Witness: n}
		running(t, &w, 5*time.Second)
		e.backup = e.vault.is
		running(t, &w, 30*time.Second)
		if e.at > 0 || len(e.fences) != 1 || e.fences[0].Until.After(e.fences[0].At) {
			t.Errorf("%d looks to go; fences %+v", e.at, e.fences)
		}
	})
}

// TestWatchNeverReachesAhead: neither a long interval nor a store's clock that is a
// little behind makes a fence refuse what is new; one that is far behind sets none.
func TestWatchNeverReachesAhead(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		every, saved time.Duration // saved so long ago
		until        time.Duration // so long ago; negative: it is refused
	}{
		"long ago":          {time.Second, time.Hour, time.Hour - 2*time.Second},
		"a moment ago":      {time.Second, time.Second, 0},
		"a long interval":   {10 * time.Minute, time.Second, 0},
		"a clock behind":    {time.Second, -2 * time.Second, 0},
		"a clock far apart": {time.Second, -time.Minute, -1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				saved := upkeep.Incarnation{Store: "ab", Epoch: 1, Counter: 9, At: time.Now().Add(-tt.saved)}
				v, n := &vault{is: upkeep.Incarnation{Store: "ab", Epoch: 1}}, &notes{saved: &saved}
				w := upkeep.Watch{Store: v, Witness: n, Every: tt.every}
				set, err := w.Check(t.Context())
				if tt.until < 0 {
					if !errors.Is(err, upkeep.ErrFence) || n.saved.Counter != 9 {
						t.Errorf("Check = %+v, %v; saved %+v", set, err, n.saved)
					}
					return
				}
				if err != nil || set == nil || !set.Until.Equal(time.Now().Add(-tt.until)) {
					t.Errorf("Check = %+v, %v; want it until %v ago", set, err, tt.until)
				}
			})
		})
	}
}
