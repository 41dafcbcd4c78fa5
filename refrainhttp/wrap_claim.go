package refrainhttp

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/refrain-dev/refrain/record"
)

// How long and how often the store is asked to write one thing, whoever is
// waiting for it.
const (
	storePatience = 10 * time.Second
	storeTries    = 5
	retryFirst    = 50 * time.Millisecond
	retryMost     = time.Second
)

// claim commits the claim. fresh says that the record is ours to act on; else it
// is what to answer with. A refusal is no reason not to write what Open asks for.
func (w *wrapper) claim(ctx context.Context, c *record.Claim) (rec *record.Record, fresh bool, err error) {
	var refusal error
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), storePatience)
	defer cancel()
	err = w.store.Change(bounded, c.Identity, func(seen record.Seen, now time.Time) (edit record.Edit, _ error) {
		if fresh && owns(rec, seen.Record) {
			return record.Edit{}, nil // an earlier COMMIT whose answer was lost
		}
		edit, rec, fresh, refusal = c.Open(seen, now)
		if fresh {
			// Two owners of one attempt would agree in ref and number; not in this.
			rec.Lease = rec.Lease.Add(-time.Duration(rand.IntN(1000)) * time.Microsecond)
		}
		return edit, nil
	})
	if err != nil && !(fresh && w.won(ctx, rec)) {
		return nil, false, err
	}
	return rec, fresh, refusal
}

// won looks, after a change that failed, whether it happened nevertheless.
func (w *wrapper) won(ctx context.Context, rec *record.Record) bool {
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), storePatience)
	defer cancel()
	for try := range storeTries {
		if seen, _, err := w.store.Load(bounded, rec.Identity); err == nil {
			return owns(rec, seen.Record)
		}
		pause(bounded, try)
	}
	return false
}

// owns reports whether the seen record is the claim rec.
func owns(rec, seen *record.Record) bool {
	return seen != nil && seen.Ref == rec.Ref && seen.Attempt == rec.Attempt && seen.Fence == rec.Fence &&
		seen.State == record.Submitted && seen.Lease.Equal(rec.Lease)
}

// change writes on a context of its own: whoever waits for the answer may have
// gone. It tries again until the store has answered.
func (w *wrapper) change(ctx context.Context, id record.Identity, decide func(record.Seen, time.Time) (record.Edit, error)) (err error) {
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), storePatience)
	defer cancel()
	for try := range storeTries {
		if err = w.store.Change(bounded, id, decide); err == nil || errors.Is(err, record.ErrLeaseLost) {
			return err
		}
		if try < storeTries-1 {
			pause(bounded, try)
		}
	}
	return err
}

func pause(ctx context.Context, try int) {
	t := time.NewTimer(record.Backoff(retryFirst, retryMost, try))
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
