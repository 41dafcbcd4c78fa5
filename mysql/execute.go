package mysql

import (
	"context"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

var _ refrain.Executor[Tx] = (*DB)(nil)

// Execute runs one action: the effect and its record commit together, or
// neither does. See [refrain.Executor].
func (db *DB) Execute(ctx context.Context, call refrain.Call, effect func(ctx context.Context, tx Tx) (refrain.Result, error)) (refrain.Outcome, error) {
	return call.Drive(ctx, &db.driver, db.opts.Observer, func(ctx context.Context, c *record.Claim) (*record.Record, bool, error) {
		rec, fresh, err := db.execute(ctx, c, effect)
		return rec, fresh, migrated(err)
	})
}

// execute runs attempts until one has an outcome.
func (db *DB) execute(ctx context.Context, c *record.Claim, effect func(context.Context, Tx) (record.Result, error)) (*record.Record, bool, error) {
	r := retries{until: time.Now().Add(c.Policy.MaxExecution)}
	for {
		rec, fresh, err := db.attempt(ctx, c, effect, &r)
		again, err := r.again(ctx, err)
		if !again {
			return rec, fresh, err
		}
	}
}

// attempt is one transaction.
func (db *DB) attempt(ctx context.Context, c *record.Claim, effect func(context.Context, Tx) (record.Result, error), r *retries) (*record.Record, bool, error) {
	if db.late.full() {
		return nil, false, errLate
	}
	s, err := db.open(r.context(ctx), c) // a lookup would wait for the same connections
	if err != nil {
		return nil, false, notBegun{err}
	}
	defer s.leave()
	found, err := s.begin(ctx)
	if err != nil {
		return nil, false, notBegun{err}
	}
	now := db.now(found.now)
	if mine, err := r.resolve(found, db.noLock.Load()); mine != nil || err != nil {
		return mine, true, err
	}
	decision, err := decide(found, c, now)
	if err != nil || decision.Action != record.Execute {
		return found.Record, false, err
	}
	if err := r.spent(); err != nil {
		return nil, false, err
	}
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	rec := c.Begin(now)
	result, err := s.effect(ctx, rec, effect, found.packet)
	if err != nil {
		return nil, false, err
	}
	c.Settle(rec, result, now)
	if err := awaited(ctx, s.q, rec); err != nil {
		return nil, false, err
	}
	if err := s.prepare(ctx, rec, found, decision); err != nil {
		return nil, false, err
	}
	if sent, err := s.commit(rec); err != nil {
		if sent {
			r.unsure(c, rec, err)
		}
		return nil, false, err
	}
	return rec, true, nil
}

// decide is the decision inside the transaction: Execute, an answer from the
// record, or an error.
func decide(found seen, c *record.Claim, now time.Time) (record.Decision, error) {
	if err := c.CheckIdentity(found.Seen); err != nil {
		return record.Decision{}, err
	}
	policy := c.Policy
	policy.Rerun = false // an effect in our transaction is never lost, so this record is another guard's
	decision := record.Decide(policy, found.Seen, c.Request, now)
	switch {
	case decision.Action == record.Execute || decision.Action == record.Replay || decision.Action == record.Current:
		return decision, nil
	case decision.Row == "6a":
		return decision, record.ErrHeld
	}
	return decision, record.Refusal(decision, found.Seen, c, now)
}
