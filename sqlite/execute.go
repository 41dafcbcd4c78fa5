package sqlite

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

var _ refrain.Executor[Tx] = (*DB)(nil)

// haste is how long a call that has not looked yet waits for the writer.
const haste = 20 * time.Millisecond

// newborn reports a key that was made within the last second: almost always a
// first attempt, for which looking first would find nothing. It only chooses
// where to look first, so a wrong clock costs time and nothing else.
func (db *DB) newborn(c *record.Claim) bool {
	born, timed := c.Policy.KeyTime.Birth(c.Identity.Key)
	return timed && db.opts.Now().Sub(born) < time.Second
}

// Execute runs one action: the effect and its record commit together, or
// neither does. See [refrain.Executor].
func (db *DB) Execute(ctx context.Context, call refrain.Call, effect func(ctx context.Context, tx Tx) (refrain.Result, error)) (refrain.Outcome, error) {
	return call.Drive(ctx, &db.driver, db.opts.Observer, func(ctx context.Context, c *record.Claim) (rec *record.Record, fresh bool, err error) {
		var refusal *record.Error // told by a record
		patience := db.opts.Busy
		if c.Hasty {
			patience = min(patience, db.haste)
		}
		err = db.writer.do(&member{
			ctx:      ctx,
			patience: patience,
			name:     c.Identity.Operation,
			limit:    c.Policy.MaxExecution,
			commit:   c.Policy.CommitWait,
			alone:    c.Policy.Solo,
			work: func(s *session) (err error) {
				refusal = nil
				rec, fresh, err = db.attempt(s, c, effect)
				// What a record refuses waits for COMMIT as a replay does: the
				// record may be a neighbour's, whose caller did not wait.
				if e := new(record.Error); errors.As(err, &e) && e.Record != nil {
					refusal, err = e, nil
				}
				return err
			},
		})
		if err == nil && refusal != nil {
			err = refusal
		}
		if err != nil {
			return nil, false, migrated(err)
		}
		return rec, fresh, nil
	})
}

// attempt is one run inside the group's transaction and the member's savepoint.
func (db *DB) attempt(s *session, c *record.Claim, effect func(context.Context, Tx) (record.Result, error)) (*record.Record, bool, error) {
	ctx := context.Background()
	found, err := lookup(ctx, s.run, c.Identity, c.Hash)
	if err != nil {
		return nil, false, err
	}
	s.m.unsure = false // what an earlier COMMIT did is in the lookup
	now := db.opts.Now()
	decision, err := decide(found, c, now)
	if err != nil || decision.Action != record.Execute {
		return found.Record, false, err
	}
	if err := s.m.ctx.Err(); err != nil {
		return nil, false, err
	}
	rec := c.Begin(now)
	result, err := s.effect(c, rec, effect)
	if err != nil {
		return nil, false, err
	}
	if result.Rejected {
		if _, err := s.run.exec(ctx, "ROLLBACK TO refrain"); err != nil {
			return nil, false, err
		}
	}
	c.Settle(rec, result, now)
	if err := awaited(ctx, s.run, rec); err != nil {
		return nil, false, err
	}
	return rec, true, write(ctx, s.run, c, rec, found, decision)
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
	switch decision.Action {
	case record.Execute, record.Replay, record.Current:
		return decision, nil
	}
	return decision, record.Refusal(decision, found.Seen, c, now)
}

// Load is the lookup of [record.Store], on the read pool.
func (db *DB) Load(ctx context.Context, id record.Identity) (record.Seen, time.Time, error) {
	if !db.owned { // all connections of the application's pool may be in use
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, db.opts.Busy)
		defer cancel()
	}
	found, err := lookup(ctx, db.lookups, id, id.Hash())
	return found.Seen, db.opts.Now(), migrated(err)
}

// migrated names the reason where tables are missing.
func migrated(err error) error {
	if err != nil && strings.Contains(err.Error(), "no such table: refrain_") {
		return fmt.Errorf("%w: %w", refrain.ErrNotMigrated, err)
	}
	return err
}

// writing runs the engine's own work in a transaction of its own.
func (db *DB) writing(ctx context.Context, work func(ctx context.Context, s *session) error) error {
	return db.write(ctx, true, work)
}

// write runs the engine's own work on the writer, alone or in a group.
func (db *DB) write(ctx context.Context, alone bool, work func(ctx context.Context, s *session) error) error {
	return migrated(db.writer.do(&member{
		ctx:      ctx,
		patience: db.opts.Busy,
		alone:    alone,
		commit:   refrain.DefaultCommitWait,
		work: func(s *session) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return work(context.Background(), s)
		},
	}))
}
