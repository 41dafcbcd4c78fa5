package external

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"
)

// hold is one attempt's hold on its operation.
type hold struct {
	leave  context.Context         // within the attempt's, as long as a first byte may leave
	shut   context.CancelCauseFunc // of leave
	giveUp context.CancelCauseFunc // of the attempt

	mu       sync.Mutex
	clock    clock
	lease    time.Time
	passed   bool // the first byte may have left
	answered bool // the provider has replied
}

// gate says whether the attempt's first byte may still leave: the hold and the
// attempt have not ended, and notAfter has not come by the clock it was opened by.
// No lease ends before notAfter.
func (h *hold) gate(opened clock, notAfter time.Time) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch ctx := h.leave; {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case opened.left(notAfter) <= 0:
		return operation.ErrTooLate
	}
	h.passed = true
	return nil
}

// lose shuts the gate for good. An attempt that has passed it is heard to its end:
// what it did is done, and only its answer tells of a second effect.
func (h *hold) lose() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.shut(record.ErrLeaseLost)
	if !h.passed {
		h.giveUp(record.ErrLeaseLost)
	}
}

func (h *hold) left() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.clock.left(h.lease)
}

func (h *hold) extend(c clock, lease time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.clock, h.lease = c, lease
}

func (h *hold) answer() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.answered = true
}

func (h *hold) isAnswered() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.answered
}

// beat keeps the lease of attempt n until ctx ends: while the provider works, at
// most until the attempt's context ends, and then while its reply is being written.
func (r *Runner[T]) beat(ctx, attempt context.Context, o operation.Operation, n int, h *hold) {
	every := r.options.Lease / 3
	t := time.NewTimer(every)
	defer t.Stop()
	for {
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
		if attempt.Err() != nil && !h.isAnswered() {
			return
		}
		err := r.extend(ctx, o.Ref, n, h, every)
		switch gone := errors.Is(err, record.ErrLeaseLost) || errors.Is(err, record.ErrNotFound); {
		case err == nil:
			t.Reset(every)
		case ctx.Err() != nil || gone && h.isAnswered(): // what is left to write needs no lease
			return
		case gone || h.left() <= 0:
			h.lose() // a reply that still comes is written
			r.observe(ctx, o, Event{Kind: LeaseLost, Attempt: n, Err: err})
			return
		default:
			r.observe(ctx, o, Event{Kind: Failed, Attempt: n, Err: err})
			t.Reset(max(min(every, h.left()), time.Millisecond))
		}
	}
}

// extend moves the lease once, within patience.
func (r *Runner[T]) extend(ctx context.Context, ref string, n int, h *hold, patience time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var now, lease time.Time
	sent := time.Now()
	err := r.store.Change(ctx, ref, func(_ context.Context, _ T, seen operation.Seen) (operation.Edit, error) {
		next, err := seen.Operation.Extend(n, seen.Now, r.options.Lease)
		if err != nil {
			return operation.Edit{}, err
		}
		if h.isAnswered() {
			next.Why = "the provider has replied, and the reply cannot be written yet"
		}
		now, lease = seen.Now, next.Lease
		return mirrored(seen, next), nil
	})
	if err == nil {
		h.extend(clock{now, sent}, lease)
	}
	return err
}
