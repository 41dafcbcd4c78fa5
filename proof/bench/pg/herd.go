package pg

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/refrain-dev/refrain"

	"github.com/refrain-dev/refrain/proof/bench/naked"
)

const (
	duplicates = 64
	herdEffect = 20 * time.Millisecond
	herds      = 40
)

// Herd writes how long 64 duplicates of one new key take when the effect takes
// 20 ms, and what an unrelated caller on the same pool feels of it.
func Herd(ctx context.Context, w io.Writer, n Naked, e *Engine) error {
	quiet, _, err := victim(ctx, n, func() error { return rest(ctx, herds*herdEffect*3/2) })
	if err != nil {
		return err
	}
	var total, duplicate []time.Duration
	loud, _, err := victim(ctx, n, func() error {
		for range herds {
			took, each, err := e.herd(ctx, naked.RandomKey())
			if err != nil {
				return err
			}
			total, duplicate = append(total, took), append(duplicate, each...)
		}
		return nil
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "#### %d duplicates of one new key, effect %v, %d herds\n\n"+
		"| herd, median | herd / effect | duplicate p50 | p99 | unrelated key p99 | without the herd | ratio |\n|--|--|--|--|--|--|--|\n"+
		"| %.1fms | %.2f | %.1fms | %.1fms | %.2fms | %.2fms | %.2f |\n\n",
		duplicates, herdEffect, herds, ms(at(total, 50)), float64(at(total, 50))/float64(herdEffect), ms(at(duplicate, 50)), ms(at(duplicate, 99)),
		ms(at(loud, 99)), ms(at(quiet, 99)), float64(at(loud, 99))/float64(at(quiet, 99)))
	return err
}

// rest waits without load.
func rest(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// victim runs bare effects one after the other while work runs.
func victim(ctx context.Context, n Naked, work func() error) (took []time.Duration, ops int, err error) {
	var done atomic.Bool
	ended := make(chan error, 1)
	go func() {
		for !done.Load() {
			begun := time.Now()
			if err := n.Bare(ctx); err != nil {
				ended <- err
				return
			}
			took = append(took, time.Since(begun))
		}
		ended <- nil
	}()
	err = work()
	done.Store(true)
	err = errors.Join(err, <-ended)
	return took, len(took), err
}

func (e *Engine) herd(ctx context.Context, key string) (total time.Duration, each []time.Duration, err error) {
	var mu sync.Mutex
	var ran int
	var failed error
	slow := func(ctx context.Context, tx pgx.Tx) (refrain.Result, error) {
		mu.Lock()
		ran++
		mu.Unlock()
		time.Sleep(herdEffect) // the effect's own work
		return effect(ctx, tx)
	}
	var wg sync.WaitGroup
	begun := time.Now()
	for range duplicates {
		wg.Go(func() {
			_, err := e.db.Execute(ctx, call(key), slow)
			took := time.Since(begun)
			mu.Lock()
			defer mu.Unlock()
			each = append(each, took)
			failed = errors.Join(failed, err)
		})
	}
	wg.Wait()
	total = time.Since(begun)
	if ran != 1 || failed != nil {
		err = fmt.Errorf("a herd ran %d effects: %w", ran, failed)
	}
	return total, each, err
}

func at(d []time.Duration, percent int) time.Duration {
	slices.Sort(d)
	return d[min(len(d)-1, len(d)*percent/100)]
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
