package postgres

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/refrain-dev/refrain/operation"
)

// Operations returns the store of external operations.
func (db *SQL) Operations() operation.Store[SQLTx] {
	return operations[SQLTx]{
		store: &db.Store,
		in:    func(tx SQLTx) runner { return through{tx} },
		edit:  db.editOperations,
		woken: func() <-chan struct{} { return nil },
	}
}

// editOperations is [operations].edit.
func (db *SQL) editOperations(ctx context.Context, l *locking, work func(context.Context, editing[SQLTx]) ([]statement, error)) error {
	leave, err := db.tasks.enter()
	if err != nil {
		return err
	}
	defer leave()
	until := time.Now().Add(updateTime)
	for attempt := 1; ; attempt++ {
		err := db.editOnce(ctx, l, work)
		if !undecided(err) || attempt == maxAttempts || !pause(ctx, until, attempt) {
			return err
		}
	}
}

func (db *SQL) editOnce(ctx context.Context, l *locking, work func(context.Context, editing[SQLTx]) ([]statement, error)) error {
	s, err := db.lockOperations(ctx, l)
	if err != nil {
		return err
	}
	defer s.rollback() // also when work panics or exits its goroutine
	lent := false
	statements, err := work(ctx, editing[SQLTx]{s.run, func(ctx context.Context, fn func(context.Context, SQLTx) error) error {
		lent = true
		return s.lend(ctx, fn)
	}})
	if err == nil {
		err = context.Cause(ctx)
	}
	if err != nil || len(statements) == 0 && !lent {
		return err
	}
	for _, st := range statements {
		if _, err := s.run.exec(ctx, st.sql, st.args...); err != nil {
			return lostRace(err)
		}
	}
	if err := s.settle(ctx, l.seen); err != nil {
		return err
	}
	if db.committing != nil {
		if err := db.committing(); err != nil {
			return err
		}
	}
	return doubtful(db.committed(ctx, s, l.seen, defaultCommitWait))
}

// lockOperations begins a transaction with l.
func (db *SQL) lockOperations(ctx context.Context, l *locking) (*sqlSession, error) {
	ctx, cancel := db.opts.soon(ctx)
	defer cancel()
	s, err := db.begin(ctx, sql.LevelReadCommitted)
	if err != nil {
		return nil, unheard(ctx, err)
	}
	first := l.statement()
	if err := each(ctx, s.run, l.read, first.sql, first.args...); err != nil {
		s.rollback()
		return nil, unheard(ctx, err)
	}
	return s, nil
}

// lend gives the transaction to fn for one turn.
func (s *sqlSession) lend(ctx context.Context, fn func(context.Context, SQLTx) error) error {
	t := &sqlTx{tx: s.tx, base: ctx}
	defer t.end() // also when fn does not return
	err := fn(ctx, t)
	poison := t.end()
	switch {
	case retryable(poison):
		return errors.Join(poison, err)
	case poison != nil:
		return declined{errors.Join(poison, err)}
	case retryable(err):
		if _, aborted := wrote(ctx, s.run); aborted { // not of another database
			return err
		}
		return declined{err}
	case err != nil:
		return declined{err}
	}
	if err := t.swallowed(false); err != nil {
		return declined{err}
	}
	return nil
}
