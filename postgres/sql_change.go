package postgres

import (
	"context"
	"database/sql"
	"time"
)

// change is [Store]'s write: the engine's own work in one transaction.
func (db *SQL) change(ctx context.Context, work func(ctx context.Context, tx runner) error) error {
	leave, err := db.tasks.enter()
	if err != nil {
		return err
	}
	defer leave()
	until := time.Now().Add(updateTime)
	for attempt := 1; ; attempt++ {
		err := db.changeOnce(ctx, work)
		if !rerun(err) || attempt >= maxAttempts || !pause(ctx, until, attempt) {
			return err
		}
	}
}

func (db *SQL) changeOnce(ctx context.Context, work func(ctx context.Context, tx runner) error) error {
	s, err := db.begin(ctx, sql.LevelReadCommitted)
	if err != nil {
		return err
	}
	defer s.rollback()
	if err := work(ctx, s.run); err != nil {
		return err
	}
	found, err := lookAround(ctx, s.run)
	if err != nil {
		return err
	}
	if err := s.settle(ctx, found); err != nil {
		return err
	}
	return doubtful(lostRace(db.committed(ctx, s, found, defaultCommitWait)))
}

// lookAround tells of the moment.
func lookAround(ctx context.Context, run runner) (found seen, err error) {
	return scanAround(run.row(ctx, aroundText))
}

// settle makes COMMIT wait for the standbys, and tell it if it did not: what a
// change only read is told as well.
func (s *sqlSession) settle(ctx context.Context, found seen) error {
	if !found.standbys {
		return nil
	}
	_, err := s.run.exec(ctx, barrierText)
	if err == nil {
		s.waits, err = hush(ctx, s.run)
	}
	return err
}
