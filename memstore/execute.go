package memstore

import (
	"context"
	"errors"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

// effect is what a transaction runs.
type effect = func(ctx context.Context, tx Tx) (refrain.Result, error)

// Execute runs the effect and commits it together with its record, or neither;
// see [refrain.Executor]. Waiting for the running transaction ends with ctx: row
// 9, and nothing was executed.
func (db *DB) Execute(ctx context.Context, call refrain.Call, effect func(ctx context.Context, tx Tx) (refrain.Result, error)) (refrain.Outcome, error) {
	return call.Drive(ctx, &db.driver, db.options.Observer, func(ctx context.Context, c *record.Claim) (*record.Record, bool, error) {
		t, err := db.begin(ctx)
		if err != nil {
			return nil, false, err
		}
		defer t.end()
		rec, fresh, err := t.execute(ctx, c, effect)
		if err == nil && fresh {
			err = t.commit()
		}
		if err != nil {
			return nil, false, err
		}
		return rec, fresh, nil
	})
}

// ExecuteIn is Execute in the caller's transaction, made by [DB.Begin] or
// [DB.Update]. Its outcome is provisional until the caller commits and must not
// be shown before. It never waits: a held identity is [refrain.ErrInProgress] at
// once. An effect that fails takes back its own writes; the caller's stay.
func (db *DB) ExecuteIn(ctx context.Context, tx Tx, call refrain.Call, effect func(ctx context.Context, tx Tx) (refrain.Result, error)) (refrain.Outcome, error) {
	t := tx.h.t
	if t.db != db {
		return refrain.Outcome{}, errors.New("memstore: the transaction is of another store")
	}
	if tx.h.running {
		return refrain.Outcome{}, refrain.ErrNested
	}
	if err := tx.usable(); err != nil {
		return refrain.Outcome{}, err
	}
	t.callers = true
	return call.Join(ctx, db.options.Observer, func(ctx context.Context, c *record.Claim) (*record.Record, bool, error) {
		rec, fresh, err := t.execute(ctx, c, effect)
		var refusal *record.Error
		if errors.As(err, &refusal) && refusal.Problem == record.TooLate {
			refusal.Err = db.late(ctx, c, refusal.Now) // elsewhere the driver does it
		}
		return rec, fresh, err
	})
}

// execute looks, decides and, where that is the decision, runs the effect and
// writes its record. The transaction is left to its owner, unchanged unless the
// result is recorded.
func (t *transaction) execute(ctx context.Context, c *record.Claim, run effect) (*record.Record, bool, error) {
	db := t.db
	before := t.savepoint()
	seen, err := db.seen(c.Identity, true)
	if err != nil {
		return nil, false, err
	}
	now := db.options.Now() // the transaction's only stamp, taken while it holds the claim
	policy := c.Policy
	policy.Rerun = false // an effect in our transaction is never lost, so this record is another guard's
	decision := record.Decide(policy, seen, c.Request, now)
	switch decision.Action {
	case record.Replay, record.Current:
		return seen.Record, false, nil
	case record.Execute:
	default:
		return nil, false, record.Refusal(decision, seen, c, now)
	}
	op, err := t.operation(c.Identity.Operation, c.IdentityVersion)
	if err != nil {
		return nil, false, err
	}
	if t.callers {
		t.hold(c.Identity)
	}
	rec := c.Begin(now)
	result, err := t.run(ctx, c, rec, run)
	if err != nil {
		return nil, false, err
	}
	c.Settle(rec, result, now)
	if rec.State == record.Accepted && !t.awaits(rec.Ref) {
		t.rollbackTo(before)
		return nil, false, record.Unawaited()
	}
	if op.contract == nil {
		if op.contract, err = c.Contract(); err != nil {
			t.rollbackTo(before)
			return nil, false, err
		}
		db.operations.put(t, c.Identity.Operation, op)
	}
	born, _ := c.Policy.KeyTime.Birth(c.Identity.Key)
	t.write(seen.Record, rec, born)
	if decision.SpendsAllow {
		db.allows.remove(t, c.Identity)
	}
	return clone(rec), true, nil
}

// run runs the effect. On an error, a panic or Goexit its writes are taken back;
// so are those of a rejected result, whose record is kept.
func (t *transaction) run(ctx context.Context, c *record.Claim, rec *record.Record, run effect) (result record.Result, err error) {
	before := t.savepoint()
	h := &handle{t: t, owned: true, running: true}
	kept := false
	defer func() {
		t.mu.Lock()
		h.ended = true
		t.mu.Unlock()
		if !kept {
			t.rollbackTo(before)
		}
	}()
	bounded, cancel := c.Bound(ctx, rec)
	defer cancel()
	result, err = run(bounded, Tx{h})
	after := t.savepoint()
	wrote := after.writes > before.writes
	if err == nil {
		err = after.poison
	}
	if err != nil {
		return result, c.Failed(bounded, err, wrote)
	}
	if bounded.Err() != nil {
		if over := c.Failed(bounded, nil, wrote); errors.Is(over, record.NotExecuted) {
			return result, over // it ended well, but too late
		}
	}
	if result, err = c.Keep(result); err != nil {
		return result, err
	}
	kept = !result.Rejected
	return result, nil
}
