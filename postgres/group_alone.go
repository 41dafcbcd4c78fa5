package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/refrain-dev/refrain/record"
)

// alone runs the effect the database's own way: look first, in a transaction of
// its own. Its batch goes to the server at each Send.
func (g *Group) alone(ctx context.Context, c *record.Claim, effect func(context.Context, *Batch) (record.Result, error)) (*record.Record, bool, error) {
	failed, wrote := false, false
	r := &run{db: g.db, c: c, effect: func(ctx context.Context, tx Tx) (result record.Result, err error) {
		b := &Batch{send: func(ctx context.Context, queued []*pgx.QueuedQuery) error {
			return tx.SendBatch(ctx, &pgx.Batch{QueuedQueries: queued}).Close()
		}}
		defer func() { _, _ = b.take(true) }()
		result, err = effect(ctx, b)
		queued, _ := b.take(true)
		if err == nil {
			err = b.swallowed(result.Rejected)
		}
		if err == nil && !result.Rejected && len(queued) > 0 {
			err = b.send(ctx, queued)
		}
		failed, wrote = err != nil, b.wrote() || changing(queued) > 0
		return result, err
	}}
	rec, fresh, err := r.retried(ctx)
	var refusal *record.Error
	if errors.As(err, &refusal) && refusal.Problem == record.HandlerFailed && failed {
		refusal.Wrote = wrote // any batch is a write to the transaction
	}
	if err == nil || errors.As(err, &refusal) && refusal.Problem == record.ContractChanged {
		g.learn(c, err)
	}
	return rec, fresh, err
}

// settle finds out what came of a group's COMMIT that nobody answered, for one
// of its members: its record, nil when it never happened, or row 10.
func (g *Group) settle(ctx context.Context, c *record.Claim, ref string, cause error) (*record.Record, error) {
	was, err := settle(ctx, g.db.look(c), ref, c.Policy.CommitWait)
	switch {
	case err != nil:
		return nil, commitUnknown(errors.Join(errAnswerLost, cause, err))
	case was == nil:
		return nil, nil
	}
	return was.Record, g.db.acks.confirmed(ctx, *was, c.Policy.CommitWait)
}
