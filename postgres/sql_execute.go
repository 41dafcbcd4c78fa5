package postgres

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

// Execute runs one action: the effect and its record commit together, or
// neither does. See [refrain.Executor].
//
// A fresh action sends four statements beside the effect's own: BEGIN, the
// lookup, the record and COMMIT; bare would be two. It is one more where
// synchronous_standby_names is set, and one more for the first action of an
// operation ever. A repeat is one statement, without a transaction. Some drivers
// take two round trips for a statement with arguments.
//
// The effect gets the transaction without the verbs that would end it: one that
// is tried is [refrain.ErrOwned], and nothing of the effect is kept. A swallowed
// error does not end in a commit.
func (db *SQL) Execute(ctx context.Context, call refrain.Call, effect func(ctx context.Context, tx SQLTx) (refrain.Result, error)) (refrain.Outcome, error) {
	return call.Drive(ctx, &db.driver, db.opts.Observer, func(ctx context.Context, c *record.Claim) (*record.Record, bool, error) {
		leave, err := db.tasks.enter()
		if err != nil {
			return nil, false, err
		}
		defer leave()
		return (&sqlRun{db: db, c: c, effect: effect}).retried(ctx)
	})
}

// sqlRun is one call of Execute over its attempts.
type sqlRun struct {
	db      *SQL
	c       *record.Claim
	effect  sqlEffect
	refused *record.Record // a rejected result to record; its effect was rolled back
}

// attempt is one transaction.
func (r *sqlRun) attempt(ctx context.Context) (*record.Record, bool, error) {
	db, c := r.db, r.c
	s, found, err := db.take(ctx, level(db.opts.Isolation), c)
	if err != nil {
		return nil, false, err
	}
	defer s.rollback()
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
	rec := r.refused
	if rec == nil {
		rec = c.Begin(now)
	}
	bounded, cancel := c.Bound(ctx, rec)
	defer cancel()
	t := &sqlTx{tx: s.tx, base: bounded}
	if r.refused == nil {
		if rec.Result, err = db.apply(bounded, s, c, t, found.began, r.effect); err != nil {
			return nil, false, err
		}
		if rec.Result.Rejected {
			r.refused = rec
			return nil, false, errOnceMore
		}
	}
	c.Settle(rec, rec.Result, now)
	if err := db.awaited(bounded, s.run, rec); err != nil {
		return nil, false, err
	}
	if s.waits, err = db.keep(bounded, s.run, c, rec, found, decision); err != nil {
		return nil, false, unrecorded(bounded, c, t, err)
	}
	return r.commit(ctx, s, rec, found)
}

// take begins a transaction and claims c in it.
func (db *SQL) take(ctx context.Context, level sql.IsolationLevel, c *record.Claim) (*sqlSession, seen, error) {
	ctx, cancel := db.opts.soon(ctx)
	defer cancel()
	s, err := db.begin(ctx, level)
	if err != nil {
		return nil, seen{}, unheard(ctx, err)
	}
	found, err := db.claim(ctx, s.run, c)
	if err != nil {
		s.rollback()
	}
	return s, found, unheard(ctx, err)
}

// claim looks at the identity and takes its lock if it is free.
func (s *Store) claim(ctx context.Context, run runner, c *record.Claim) (seen, error) {
	found, err := scanLookup(run.row(ctx, s.sql.lookup, lookupArgs(c.Identity, c.Hash)...), c.Identity)
	found.Held = !found.locked
	return found, migrated(err)
}

// keep writes the record at the end of its transaction. A COMMIT that waits for
// standbys must not hide its warning; waits is whether there is one that does. A
// statement timeout does not reach it, since PostgreSQL ends the timeout first.
func (s *Store) keep(ctx context.Context, run runner, c *record.Claim, rec *record.Record, found seen, decision record.Decision) (waits bool, err error) {
	writes, err := s.sql.writes(c, rec, found, decision)
	if err != nil {
		return false, err
	}
	if found.standbys {
		if waits, err = hush(ctx, run); err != nil {
			return false, err
		}
	}
	for _, w := range writes {
		if _, err := run.exec(ctx, w.sql, w.args...); err != nil {
			return false, fmt.Errorf("postgres: the record: %w", lostRace(migrated(err)))
		}
	}
	return waits, nil
}

// hush is [quiet], and tells whether COMMIT will wait for the standbys.
func hush(ctx context.Context, run runner) (waits bool, err error) {
	var timeout, messages string
	err = run.row(ctx, quiet).Scan(&waits, &timeout, &messages)
	return waits, err
}
