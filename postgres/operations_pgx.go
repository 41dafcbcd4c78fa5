package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"
)

// Operations returns the store of external operations.
func (db *DB) Operations() operation.Store[Tx] {
	o := operations[Tx]{
		store: &db.Store,
		in:    func(tx Tx) runner { return direct{tx} },
		edit:  db.editOperations,
		woken: func() <-chan struct{} { return db.ears.operationsDue(db.opts.Notify) },
	}
	if db.opts.Notify {
		o.channel = db.channel()
	}
	return o
}

// editOperations is [operations].edit.
func (db *DB) editOperations(ctx context.Context, l *locking, work func(context.Context, editing[Tx]) ([]statement, error)) error {
	leave, err := db.tasks.enter()
	if err != nil {
		return err
	}
	defer leave()
	until := time.Now().Add(updateTime)
	for attempt, stale := 1, 1; ; {
		err := db.editOnce(ctx, l, work)
		switch {
		case wasStale(err) && stale < staleTries && ctx.Err() == nil:
			stale++
			continue
		case !undecided(err) || attempt == maxAttempts || !pause(ctx, until, attempt):
			return err
		}
		attempt++
	}
}

func (db *DB) editOnce(ctx context.Context, l *locking, work func(context.Context, editing[Tx]) ([]statement, error)) error {
	s, err := db.lockOperations(ctx, l)
	if err != nil {
		return err
	}
	defer s.rollback() // also when work panics or exits its goroutine
	lent := false
	statements, err := work(ctx, editing[Tx]{direct{s.tx}, func(ctx context.Context, fn func(context.Context, Tx) error) error {
		lent = true
		return s.lend(ctx, fn)
	}})
	if err == nil {
		err = context.Cause(ctx)
	}
	if err != nil || len(statements) == 0 && !lent {
		return err
	}
	if l.standbys {
		statements = append(statements, statement{sql: barrierText}) // what is told has to be confirmed
	}
	return doubtful(lostRace(db.commit(s, l.seen, statements, defaultCommitWait)))
}

// lockOperations begins a transaction with l, in one round trip.
func (db *DB) lockOperations(ctx context.Context, l *locking) (*session, error) {
	if n := db.late.n.Load(); n >= db.most {
		return nil, fmt.Errorf("postgres: %d COMMITs wait for their answer: %w", n, record.ErrNotBegun)
	}
	ctx, cancel := db.opts.soon(ctx)
	defer cancel()
	conn, err := db.acquire(ctx)
	if err != nil {
		return nil, err
	}
	first := l.statement()
	var b pgx.Batch
	b.BeginTx(pgx.TxOptions{IsoLevel: pgx.ReadCommitted, CommitQuery: afterLarge})
	b.Queue(first.sql, first.args...)
	br := conn.SendBatch(ctx, &b)
	s := &session{conn: conn, tx: br.Tx(), hooks: hooksOf(conn.Conn())}
	if _, err = br.Exec(); err == nil {
		err = readRows(br, l.read)
	}
	if closing := br.Close(); err == nil {
		err = closing
	}
	if err != nil {
		err = unheard(ctx, err)
		if conn.Conn().IsClosed() && ctx.Err() == nil {
			err = fmt.Errorf("%w: %w", errStale, err)
		}
		s.rollback()
		return nil, err
	}
	return s, nil
}

// readRows reads all rows of the next answer.
func readRows(br pgx.BatchResults, read func(scanner) error) error {
	rows, err := br.Query()
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := read(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// lend gives the transaction to fn for one turn.
func (s *session) lend(ctx context.Context, fn func(context.Context, Tx) error) error {
	t := &turn{conn: s.conn.Conn(), base: ctx}
	if s.hooks != nil {
		s.hooks.turn.Store(t)
		defer s.hooks.turn.Store(nil)
	}
	defer t.end() // also when fn does not return
	err := fn(ctx, &handle{inner: s.tx, t: t})
	poison := t.end()
	if s.hooks != nil {
		s.hooks.turn.Store(nil)
	}
	if t.forgot && s.status() == active { // pgx has to forget them, too
		err = errors.Join(err, t.conn.DeallocateAll(ctx))
	}
	s.large = t.large
	switch status := s.status(); {
	case again(poison, err, status):
		return errors.Join(poison, err)
	case poison != nil:
		return declined{errors.Join(poison, err)}
	case err != nil:
		return declined{err}
	case status == idle:
		return declined{errors.Join(refrain.ErrOwned, errEnded)}
	}
	if err := t.swallowed(s.status(), false); err != nil {
		return declined{err}
	}
	return nil
}
