package upkeep

import (
	"context"
	"errors"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

// Reaper takes results and forgets records when they are due, a batch at a time.
// Nothing depends on when it comes: what is past its memory reads as forgotten
// whether or not a reaper has been there. Several may run on one database.
type Reaper struct {
	Store Retention
	// Every is how often it looks when nothing is due. 0 means a minute.
	Every time.Duration
	// Rest is how long it pauses after a batch, in durations of that batch: with 3,
	// it works a quarter of its time. 0 means 3; negative means no pause.
	Rest float64
	// Batch is what it asks for; its Limit is the most, and a batch that takes
	// longer than a quarter of a second is followed by smaller ones.
	Batch Reap
	// Observe is told of each batch and each error. May be nil.
	Observe func(Progress)
}

// Progress is one batch of a reaper.
type Progress struct {
	Reaped
	Total Reaped        // of all batches until now; its Lag is the greatest
	Took  time.Duration // by this batch
	Err   error         // of this batch, which then did nothing
}

const (
	longBatch  = 250 * time.Millisecond
	shortBatch = 60 * time.Millisecond
	leastBatch = 50
)

// Run reaps until ctx ends. A database that cannot be reached is asked again, at
// growing intervals of up to a minute; one that is not migrated ends it.
func (r *Reaper) Run(ctx context.Context) error {
	every := r.Every
	if every <= 0 {
		every = time.Minute
	}
	p := r.begin()
	for failed := 0; ; {
		more, err := p.batch(ctx)
		rest := every
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, refrain.ErrNotMigrated), errors.Is(err, refrain.ErrNewerSchema):
			return err
		case err != nil:
			rest = record.Backoff(time.Second, time.Minute, failed)
			failed++
		case more:
			failed, rest = 0, p.rest()
		default:
			failed = 0
		}
		if !pause(ctx, rest) {
			return ctx.Err()
		}
	}
}

// Once reaps until nothing is due any more, and returns what it did, also with an
// error.
func (r *Reaper) Once(ctx context.Context) (Reaped, error) {
	p := r.begin()
	for {
		more, err := p.batch(ctx)
		if err != nil || !more {
			return p.total, err
		}
		if !pause(ctx, p.rest()) {
			return p.total, ctx.Err()
		}
	}
}

func (r *Reaper) begin() *pass {
	b := r.Batch.Bounded(r.Batch.Until)
	return &pass{reaper: r, most: b.Limit, limit: b.Limit}
}

// pass is one run of a reaper.
type pass struct {
	reaper      *Reaper
	most, limit int
	took        time.Duration
	total       Reaped
}

func (p *pass) batch(ctx context.Context) (more bool, err error) {
	ask := p.reaper.Batch
	ask.Limit = p.limit
	started := time.Now()
	done, err := p.reaper.Store.Reap(ctx, ask)
	p.took = time.Since(started)
	if err == nil {
		p.total.add(done)
	}
	switch {
	case p.took > longBatch:
		p.limit = max(p.limit/2, min(leastBatch, p.most))
	case p.took < shortBatch:
		p.limit = min(p.limit*2, p.most)
	}
	if p.reaper.Observe != nil {
		p.reaper.Observe(Progress{Reaped: done, Total: p.total, Took: p.took, Err: err})
	}
	return done.More, err
}

func (p *pass) rest() time.Duration {
	factor := p.reaper.Rest
	if factor == 0 {
		factor = 3
	}
	return time.Duration(max(factor, 0) * float64(p.took))
}

func (r *Reaped) add(b Reaped) {
	r.Looked += b.Looked
	r.Trimmed += b.Trimmed
	r.Forgotten += b.Forgotten
	r.Unfinished += b.Unfinished
	r.Lag = max(r.Lag, b.Lag)
	r.More, r.Now = b.More, b.Now
}

func pause(ctx context.Context, d time.Duration) bool {
	if ctx.Err() != nil || d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
