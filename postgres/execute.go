package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

// Execute runs one action: the effect and its record commit together, or
// neither does. See [refrain.Executor].
//
// A fresh action takes no round trip more than the effect's bare transaction: the
// lookup travels with BEGIN, the record with COMMIT. A repeat is one round trip
// without a transaction. A rejected result takes two transactions: the effect's,
// which is rolled back, and that of its record.
func (db *DB) Execute(ctx context.Context, call refrain.Call, effect func(ctx context.Context, tx Tx) (refrain.Result, error)) (refrain.Outcome, error) {
	return call.Drive(ctx, &db.driver, db.opts.Observer, func(ctx context.Context, c *record.Claim) (*record.Record, bool, error) {
		leave, err := db.tasks.enter()
		if err != nil {
			return nil, false, err
		}
		defer leave()
		r := &run{db: db, c: c, effect: effect}
		return r.retried(ctx)
	})
}

type pgxEffect = func(context.Context, Tx) (record.Result, error)

// run is one call of Execute over its attempts.
type run struct {
	db       *DB
	c        *record.Claim
	effect   pgxEffect
	rejected *record.Record // whose result is to be recorded; its effect was rolled back
}

// errOnceMore: the effect's result is to be recorded without its writes, which
// takes another transaction.
var errOnceMore = errors.New("postgres: the effect rejected the action")

// slow is how long an effect runs before waiters are told of its end.
const slow = 20 * time.Millisecond

// attempt is one transaction.
func (r *run) attempt(ctx context.Context) (*record.Record, bool, error) {
	db, c := r.db, r.c
	s, found, err := db.begin(ctx, db.opts.Isolation, c)
	if err != nil {
		return nil, false, err
	}
	defer s.rollback() // also when the effect panics or exits its goroutine
	now := db.time(found.now)
	decision, err := decide(found, c, now)
	if err != nil || decision.Action != record.Execute {
		s.rollback() // whoever waits for a standby holds nothing
		if doubt := db.acks.confirmed(ctx, found, c.Policy.CommitWait); doubt != nil {
			err = doubt
		}
		return found.Record, false, err
	}
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	rec, began := r.rejected, time.Now()
	if rec == nil {
		rec = c.Begin(now)
		if rec.Result, err = r.lend(ctx, s, rec); err != nil {
			return nil, false, err
		}
		if rec.Result.Rejected {
			r.rejected = rec
			return nil, false, errOnceMore
		}
	}
	c.Settle(rec, rec.Result, now)
	if err := db.awaited(ctx, direct{s.tx}, rec); err != nil {
		return nil, false, err
	}
	statements, err := db.sql.writes(c, rec, found, decision)
	if err != nil {
		return nil, false, err
	}
	if db.opts.Notify && time.Since(began) > slow {
		statements = append(statements, db.tell(c.Hash))
	}
	return r.committed(ctx, rec, s, found, statements)
}

// committed commits and tells what came of it.
func (r *run) committed(ctx context.Context, rec *record.Record, s *session, found seen, statements []statement) (*record.Record, bool, error) {
	patience := r.c.Policy.CommitWait
	err := r.db.commit(s, found, statements, patience)
	if errors.Is(err, errAnswerLost) {
		was, unsettled := settle(ctx, r.db.look(r.c), rec.Ref, patience)
		switch {
		case unsettled != nil:
			return nil, false, commitUnknown(errors.Join(err, unsettled))
		case was == nil:
			return nil, false, fmt.Errorf("%w: %w", errRace, err) // it never happened
		}
		err = r.db.acks.confirmed(ctx, *was, patience)
	}
	err = doubtful(lostRace(err))
	switch {
	case err == nil:
		return rec, true, nil
	case errors.Is(err, errEnded):
		return nil, false, &record.Error{Problem: record.HandlerFailed, Wrote: true, Err: errors.Join(refrain.ErrOwned, err)}
	case ownFault(err):
		return nil, false, &record.Error{Problem: record.HandlerFailed, Wrote: true, Err: err}
	}
	return nil, false, err
}
