package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/refrain-dev/refrain/record"
)

// commit ends the transaction of a fresh execution and tells what came of it.
func (r *sqlRun) commit(ctx context.Context, s *sqlSession, rec *record.Record, found seen) (*record.Record, bool, error) {
	db, patience := r.db, r.c.Policy.CommitWait
	if db.committing != nil {
		if err := db.committing(); err != nil {
			return nil, false, err
		}
	}
	err := db.committed(ctx, s, found, patience)
	if errors.Is(err, errAnswerLost) {
		was, unsettled := settle(context.WithoutCancel(ctx), db.look(r.c), rec.Ref, patience)
		switch {
		case unsettled != nil:
			return nil, false, commitUnknown(errors.Join(err, unsettled))
		case was == nil:
			return nil, false, fmt.Errorf("%w: %w", errRace, err) // it never happened
		}
		err = db.acks.confirmed(ctx, *was, patience)
	}
	switch err = doubtful(err); {
	case err == nil:
		return rec, true, nil
	case ownFault(err):
		return nil, false, r.c.Failed(ctx, err, true)
	}
	return nil, false, err
}

// committed commits s and returns once the COMMIT is as durable as the server's
// settings demand. found is what the transaction's first statement told.
func (db *SQL) committed(ctx context.Context, s *sqlSession, found seen, patience time.Duration) error {
	err := s.commit(patience)
	switch {
	case err == nil && !found.standbys:
		return nil
	case err == nil && s.hooks != nil:
		if s.waits {
			db.acks.note(found.postmaster, found.xmin)
		}
		return nil
	case err == nil: // nobody heard whether a standby has it
		return db.acks.await(context.WithoutCancel(ctx), patience)
	case errors.Is(err, errLate), errors.Is(err, errUnconfirmed):
		return err
	case answered(err):
		return fmt.Errorf("%w: %w", errAtCommit, err)
	}
	return fmt.Errorf("%w: %w", errAnswerLost, err)
}

// answered reports an error of COMMIT by which the server said that it rolled
// back. One that ends the session may come after the commit.
func answered(err error) bool {
	state := sqlState(err)
	return state != "" && !strings.HasPrefix(state, "08") && !strings.HasPrefix(state, "57P")
}

// look is the one of [settle].
func (db *SQL) look(c *record.Claim) func(context.Context) (seen, error) {
	return func(ctx context.Context) (seen, error) {
		s, found, err := db.take(ctx, sql.LevelReadCommitted, c)
		if err != nil {
			return seen{}, err
		}
		defer s.rollback()
		if found.locked {
			found, err = db.claim(ctx, s.run, c) // the lock is taken again, too
		}
		return found, err
	}
}

// emit is one barrier: a transaction that writes nothing but log, whose COMMIT
// the standbys have to confirm like any other.
func (db *SQL) emit(ctx context.Context) (found seen, err error) {
	leave, err := db.tasks.enter()
	if err != nil {
		return seen{}, err
	}
	defer leave()
	s, err := db.begin(ctx, sql.LevelReadCommitted)
	if err != nil {
		return seen{}, err
	}
	defer s.rollback()
	if found, err = lookAround(ctx, s.run); err != nil {
		return seen{}, err
	}
	if err := s.settle(ctx, found); err != nil {
		return seen{}, err
	}
	defer context.AfterFunc(ctx, s.sever)()
	return found, s.commit(barrierPatience)
}
