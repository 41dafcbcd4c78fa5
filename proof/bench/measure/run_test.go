package measure

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

var errOdd = errors.New("odd")

func TestRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := Run(t.Context(), 2, 100*time.Millisecond, func(_ context.Context, worker, i int) error {
			<-time.After(10 * time.Millisecond)
			if worker == 1 && i%2 == 1 {
				return errOdd
			}
			return nil
		})
		if s.Ops != 15 || s.Errs != 5 || !errors.Is(s.Err, errOdd) {
			t.Errorf("%d operations and %d failures (%v), want 15 and 5", s.Ops, s.Errs, s.Err)
		}
		if s.Elapsed != 100*time.Millisecond {
			t.Errorf("took %v, want 100ms", s.Elapsed)
		}
		if got := s.PerSecond(); got != 150 {
			t.Errorf("%v operations per second, want 150", got)
		}
		if p := s.Latency.Quantile(0.5); p > 10*time.Millisecond || p < 9800*time.Microsecond {
			t.Errorf("p50 is %v, want 10ms", p)
		}
	})
}

func TestRunAllocations(t *testing.T) {
	var mu sync.Mutex
	var kept [][]byte
	s := Run(t.Context(), 1, 20*time.Millisecond, func(context.Context, int, int) error {
		mu.Lock()
		defer mu.Unlock()
		kept = append(kept[:0], make([]byte, 4096))
		return nil
	})
	if got := s.AllocsPerOp(); got < 1 || got > 1.5 {
		t.Errorf("%v allocations per operation, want about 1", got)
	}
	if got := s.BytesPerOp(); got < 4096 || got > 4400 {
		t.Errorf("%v bytes per operation, want about 4096", got)
	}
}

func TestRunEndsWithContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	s := Run(ctx, 1, time.Hour, func(context.Context, int, int) error {
		cancel()
		return nil
	})
	if s.Ops != 1 {
		t.Errorf("%d operations after the context ended, want 1", s.Ops)
	}
}
