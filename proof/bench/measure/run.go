// Package measure runs closed loops and compares them.
//
// The numbers of one case mean little on a shared machine. The ratios of
// cases that took turns mean something, and Suite reports those.
package measure

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Op is one measured operation. worker counts from 0 to callers-1, i counts
// the worker's operations from 0 and starts again with each Run.
type Op func(ctx context.Context, worker, i int) error

// Sample is what one Run saw.
type Sample struct {
	Ops     int           // operations that returned nil
	Errs    int           // operations that did not
	Err     error         // the first such error of the lowest-numbered worker that met one
	Elapsed time.Duration // first start to last return
	Mallocs uint64        // heap allocations of the whole process meanwhile
	Bytes   uint64        // heap bytes allocated by the whole process meanwhile
	Latency Histogram     // of the operations that returned nil
}

// PerSecond is the successful operations per second.
func (s *Sample) PerSecond() float64 { return float64(s.Ops) / s.Elapsed.Seconds() }

// AllocsPerOp is the process's allocations per successful operation, 0 if
// there was none.
func (s *Sample) AllocsPerOp() float64 { return perOp(s.Mallocs, s.Ops) }

// BytesPerOp is the process's allocated bytes per successful operation, 0 if
// there was none.
func (s *Sample) BytesPerOp() float64 { return perOp(s.Bytes, s.Ops) }

func perOp(n uint64, ops int) float64 {
	if ops == 0 {
		return 0
	}
	return float64(n) / float64(ops)
}

// Run calls op from callers goroutines, each starting its next call when the
// last one returned, until dur has passed; calls under way then are finished
// and counted. Cancelling ctx ends it early.
func Run(ctx context.Context, callers int, dur time.Duration, op Op) Sample {
	// Garbage of the previous case is not this one's to collect.
	runtime.GC()
	parts := make([]Sample, callers)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	deadline := start.Add(dur)
	var wg sync.WaitGroup
	for worker := range parts {
		wg.Go(func() { loop(ctx, worker, deadline, op, &parts[worker]) })
	}
	wg.Wait()
	elapsed := time.Since(start)
	runtime.ReadMemStats(&after)

	sum := Sample{
		Elapsed: elapsed,
		Mallocs: after.Mallocs - before.Mallocs,
		Bytes:   after.TotalAlloc - before.TotalAlloc,
	}
	for i := range parts {
		sum.Ops += parts[i].Ops
		sum.Errs += parts[i].Errs
		if sum.Err == nil {
			sum.Err = parts[i].Err
		}
		sum.Latency.Add(&parts[i].Latency)
	}
	return sum
}

func loop(ctx context.Context, worker int, deadline time.Time, op Op, s *Sample) {
	begin := time.Now()
	for i := 0; begin.Before(deadline) && ctx.Err() == nil; i++ {
		err := op(ctx, worker, i)
		end := time.Now()
		if err != nil {
			s.Errs++
			if s.Err == nil {
				s.Err = err
			}
		} else {
			s.Ops++
			s.Latency.Observe(end.Sub(begin))
		}
		begin = end
	}
}

// beside keeps op busy from callers goroutines until the returned function
// is called; that one waits for them and tells their successes and failures.
func beside(ctx context.Context, callers int, op Op) (stop func() (ops, errs int)) {
	var done atomic.Bool
	var ops, errs atomic.Int64
	var wg sync.WaitGroup
	for worker := range callers {
		wg.Go(func() {
			for i := 0; !done.Load() && ctx.Err() == nil; i++ {
				if op(ctx, worker, i) == nil {
					ops.Add(1)
				} else {
					errs.Add(1)
				}
			}
		})
	}
	return func() (int, int) {
		done.Store(true)
		wg.Wait()
		return int(ops.Load()), int(errs.Load())
	}
}
