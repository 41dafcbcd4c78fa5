package engine

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/sqlite"

	"github.com/refrain-dev/refrain/proof/bench/naked"
)

const (
	duplicates  = 64
	herdEffect  = 20 * time.Millisecond
	herdRepeats = 40
)

// Herd measures how long 64 duplicates of one new key take, all of them, when
// the effect takes 20 ms, and writes the row.
func (e *Engine) Herd(ctx context.Context, w io.Writer) error {
	var times []time.Duration
	for range herdRepeats {
		took, err := e.herd(ctx, naked.RandomKey())
		if err != nil {
			return err
		}
		times = append(times, took)
	}
	slices.Sort(times)
	median := times[len(times)/2]
	_, err := fmt.Fprintf(w, "#### %d duplicates of one new key, effect %v, %d herds\n\n"+
		"| herd, median | min–max | herd / effect |\n|--|--|--|\n| %.1fms | %.1f–%.1fms | %.2f |\n\n",
		duplicates, herdEffect, herdRepeats, ms(median), ms(times[0]), ms(times[len(times)-1]), float64(median)/float64(herdEffect))
	return err
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func (e *Engine) herd(ctx context.Context, key string) (time.Duration, error) {
	var ran, failed int
	var mu sync.Mutex
	slow := func(ctx context.Context, tx sqlite.Tx) (refrain.Result, error) {
		mu.Lock()
		ran++
		mu.Unlock()
		time.Sleep(herdEffect) // the effect's own work
		return effect(ctx, tx)
	}
	var wg sync.WaitGroup
	started := time.Now()
	for range duplicates {
		wg.Go(func() {
			if _, err := e.db.Execute(ctx, e.call(key), slow); err != nil {
				mu.Lock()
				failed++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	took := time.Since(started)
	if ran != 1 || failed > 0 {
		return 0, fmt.Errorf("a herd ran %d effects and failed %d times", ran, failed)
	}
	return took, nil
}
