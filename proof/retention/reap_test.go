//go:build linux

package retention

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/refrain-dev/refrain/proof/engines"
	"github.com/refrain-dev/refrain/proof/processes"
	"github.com/refrain-dev/refrain/upkeep"
)

// TestReap reaps many records: a third is past its memory, a third past its replay.
// First beside live traffic, paced as ever, for a while; then alone, until nothing
// is due. What it prints is committed; what it demands is the counts.
func TestReap(t *testing.T) {
	processes.Heavy(t)
	for _, tt := range []struct {
		open func(*testing.T) *bench
		full int
	}{{inFile, 2_000_000}, {onServer(engines.Pgx), 10_000_000}, {onServer(engines.MySQL), 2_000_000}} {
		b := tt.open(t)
		t.Run(b.name, func(t *testing.T) { b.reap(t, processes.Size(0, 200_000, tt.full)) })
	}
}

// reapFor lets the reaper work for a while.
func reapFor(ctx context.Context, r *upkeep.Reaper, window time.Duration, done *upkeep.Reaped) error {
	ctx, cancel := context.WithTimeout(ctx, window)
	defer cancel()
	r.Observe = func(p upkeep.Progress) { *done = p.Total }
	if err := r.Run(ctx); !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

func (b *bench) reap(t *testing.T, n int) {
	if err := b.order(t.Context(), "template"); err != nil {
		t.Fatal(err)
	}
	started := time.Now()
	b.seed(t, n)
	n = (n + 499) / 500 * 500
	before := b.bytes(t)
	t.Logf("%s: %d records in %v, %s, %d bytes each", b.name, n, time.Since(started).Round(time.Second), mega(before), before/int64(n))

	window := time.Duration(processes.Size(0, 1, 20)) * time.Second
	wait := func() error { time.Sleep(window); return nil } // the time that is measured
	rate, p99 := b.during(t, wait)
	var paced upkeep.Reaped
	with, p99With := b.during(t, func() error {
		reaper := upkeep.Reaper{Store: b.store}
		return reapFor(t.Context(), &reaper, window, &paced)
	})
	t.Logf("%s: live traffic %.0f/s, p99 %v; beside the reaper %.0f/s, p99 %v: rate × %.2f, p99 × %.2f; meanwhile %d results and %d records",
		b.name, rate, p99, with, p99With, with/rate, float64(p99With)/float64(p99), paced.Trimmed, paced.Forgotten)

	var longest time.Duration
	batches := 0
	reaper := upkeep.Reaper{Store: b.store, Rest: -1, Observe: func(p upkeep.Progress) {
		longest, batches = max(longest, p.Took), batches+1
	}}
	started = time.Now()
	done, err := reaper.Once(t.Context())
	took := time.Since(started)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: alone %d results and %d records in %v: %.0f rows/s; %d batches, the longest %v; %s left",
		b.name, done.Trimmed, done.Forgotten, took.Round(time.Millisecond), float64(done.Trimmed+done.Forgotten)/took.Seconds(), batches, longest.Round(time.Millisecond), mega(b.bytes(t)))
	if forgot, trimmed := paced.Forgotten+done.Forgotten, paced.Trimmed+done.Trimmed; forgot != n/3 || trimmed < n/3-1 || trimmed > n/3+1 {
		t.Errorf("%d results and %d records of %d", trimmed, forgot, n)
	}
	started = time.Now()
	idle, err := reaper.Once(t.Context())
	if err != nil || idle.Looked > 20_000 {
		t.Errorf("with nothing due it looked at %d, %v", idle.Looked, err)
	}
	t.Logf("%s: with nothing due %v", b.name, time.Since(started).Round(time.Microsecond))
}
