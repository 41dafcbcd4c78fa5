package refrain_test

import (
	"context"
	"sync"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

// ledger is the business data of these tests, and tx the handle on it.
type ledger struct{ rows []string }

type tx = *ledger

// engine is the least executor there can be: one map, one transaction at a time.
type engine struct {
	mu       sync.Mutex
	now      time.Time
	records  map[refrain.Identity]*record.Record
	books    ledger
	driver   record.Driver
	observer refrain.Observer
}

func newEngine() *engine {
	e := &engine{now: time.Date(2026, 3, 14, 9, 26, 53, 0, time.UTC), records: map[refrain.Identity]*record.Record{}}
	e.driver.Load = func(_ context.Context, id refrain.Identity) (record.Seen, time.Time, error) {
		e.mu.Lock()
		defer e.mu.Unlock()
		return record.Seen{Record: e.records[id]}, e.now, nil
	}
	return e
}

func (e *engine) Execute(ctx context.Context, call refrain.Call, effect func(context.Context, tx) (refrain.Result, error)) (refrain.Outcome, error) {
	return call.Drive(ctx, &e.driver, e.observer, func(ctx context.Context, claim *record.Claim) (*record.Record, bool, error) {
		rec := claim.Begin(e.now)
		bounded, cancel := claim.Bound(ctx, rec)
		defer cancel()
		var draft ledger
		result, err := effect(bounded, &draft)
		if err != nil {
			return nil, false, claim.Failed(bounded, err, len(draft.rows) > 0)
		}
		if result, err = claim.Keep(result); err != nil {
			return nil, false, err
		}
		rec.Settle(result, e.now, claim.Policy)
		e.mu.Lock()
		defer e.mu.Unlock()
		if !result.Rejected {
			e.books.rows = append(e.books.rows, draft.rows...)
		}
		e.records[claim.Identity] = rec
		return rec, true, nil
	})
}

var _ refrain.Executor[tx] = (*engine)(nil)

// change edits the one record the engine holds.
func (e *engine) change(edit func(*record.Record)) {
	for id, rec := range e.records {
		next := *rec
		edit(&next)
		e.records[id] = &next
	}
}
