package mysql

import (
	"context"
	"errors"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

// lost decides for a claim that could not be written. Somebody who has not
// committed holds it: in progress. Somebody has committed: only a locking read
// sees that record, because this transaction's view may be older.
func (j *joined) lost(ctx context.Context, found seen, now time.Time, err error) (*record.Record, error) {
	switch {
	case errors.Is(err, errOperationHeld):
		return nil, err
	case isLocked(err):
		held := record.Seen{Held: true}
		return nil, record.Refusal(record.Decide(j.claim.Policy, held, j.claim.Request, now), held, j.claim, now)
	case !lostRace(err):
		return nil, err
	}
	winner, readErr := decode(j.q.QueryRowContext(ctx, recordSQL+` `+noWait(j.maria), j.claim.Hash[:]), true)
	if readErr != nil || winner.Identity != j.claim.Identity {
		return nil, errors.Join(err, readErr) // gone again, or unreadable: the next run tells
	}
	found.Record = &winner
	decision, refusal := decide(found, j.claim, now)
	if decision.Action == record.Execute {
		return nil, err
	}
	return &winner, refusal
}

// takeBack undoes what the call did and keeps the caller's transaction.
func (j *joined) takeBack(ctx context.Context, err error) error {
	undo := context.WithoutCancel(ctx)
	for _, text := range [...]string{"ROLLBACK TO SAVEPOINT " + j.start(), "RELEASE SAVEPOINT " + j.start()} {
		if gone := j.exec(undo, text); gone != nil {
			return errors.Join(err, gone)
		}
	}
	return err
}

// effect runs the caller's effect on the caller's transaction.
func (j *joined) effect(ctx context.Context, rec *record.Record, fn func(context.Context, Tx) (record.Result, error), packet int64) (record.Result, error) {
	bounded, cancel := j.claim.Bound(ctx, rec)
	defer cancel()
	t := &turn{base: bounded}
	defer t.finish()
	result, err := fn(bounded, handle{conn: j.tx, turn: t})
	poison, wrote := t.verdict()
	switch {
	case poison != nil && bounded.Err() == nil && !errors.Is(poison, refrain.ErrOwned):
		return record.Result{}, poison
	case poison != nil:
		err = poison
	case err == nil && bounded.Err() != nil && ctx.Err() == nil:
		err = bounded.Err()
	}
	if err != nil {
		return record.Result{}, j.claim.Failed(bounded, err, wrote)
	}
	return keep(j.claim, result, packet)
}

// settle makes the claim a receipt. It finds the row by the primary key: by the
// others a REPEATABLE READ would lock the gap beside it.
func settle(ctx context.Context, q runner, rec *record.Record, row int64) error {
	if err := lengths(rec); err != nil {
		return err
	}
	return one(q.ExecContext(ctx, `UPDATE refrain_record SET state = ?, final = ?, replay_until = ?, remember_until = ?,
 status = ?, effect = ?, digest = ?, header = ?, body = ? WHERE n = ?`,
		int64(rec.State), micros(rec.Final), micros(rec.ReplayUntil), micros(rec.RememberUntil),
		int64(rec.Result.Status), []byte(rec.Result.Effect), orNull(rec.Result.Digest), orNull(record.EncodeHeader(rec.Result.Header)),
		orNull(rec.Result.Body), row))
}
