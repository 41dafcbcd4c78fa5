package refraintest_test

import (
	"sync"
	"testing"
	"time"

	"github.com/refrain-dev/refrain/refraintest"
)

func TestClock(t *testing.T) {
	t.Parallel()
	var clock refraintest.Clock
	start := clock.Now()
	if want := time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC); !start.Equal(want) || !clock.Now().Equal(want) {
		t.Errorf("the zero clock stands at %v, want %v", start, want)
	}
	clock.Advance(time.Hour)
	clock.Advance(-time.Minute)
	if got := clock.Now().Sub(start); got != 59*time.Minute {
		t.Errorf("it moved by %v, want 59m", got)
	}
	at := time.Date(2020, 1, 2, 3, 4, 5, 6, time.UTC)
	clock.Set(at)
	if got := clock.Now(); !got.Equal(at) {
		t.Errorf("Now = %v, want %v", got, at)
	}
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() { clock.Advance(time.Second) })
	}
	all.Wait()
	if got := clock.Now().Sub(at); got != 100*time.Second {
		t.Errorf("100 goroutines moved it by %v", got)
	}
}
