package mysql

import (
	"context"
	"errors"
	"fmt"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

// editing is one READ COMMITTED transaction in which operations are locked,
// decided about and written. What is asked, and what is written with COMMIT,
// takes one round trip each on a connection of ours.
type editing struct {
	*session
	moment anyRow // of momentSQL, once it was asked
	lent   bool   // whoever had it may have written
}

// ask is a query and what reads its rows.
type ask struct {
	query   string
	args    []any
	columns int
	row     func(anyRow) error
}

// declined is an error of whoever decides: it is returned as it is, and nothing
// is run again for it.
type declined struct{ error }

func (d declined) Unwrap() error { return d.error }

// editOperations runs work in a transaction that begins with asks, and commits
// what it returns; again if the transaction lost to another one.
func (db *DB) editOperations(ctx context.Context, asks func() []ask, work func(ctx context.Context, e *editing) ([]statement, error)) error {
	for attempt := 0; ; attempt++ {
		err := db.editOnce(ctx, asks(), work)
		var d declined
		switch {
		case errors.As(err, &d):
			return d.error
		case !retryable(err) || attempt == maxAttempts-1 || !sleep(ctx, record.Backoff(retryFirst, retryLongest, attempt)):
			return migrated(err)
		}
	}
}

func (db *DB) editOnce(ctx context.Context, asks []ask, work func(ctx context.Context, e *editing) ([]statement, error)) error {
	if db.late.full() {
		return errLate
	}
	s, err := db.open(ctx, nil)
	if err != nil {
		return err
	}
	s.locked = false // no identity is
	defer s.leave()  // also when work panics or exits its goroutine
	e := &editing{session: s}
	if err := e.begin(ctx, asks); err != nil {
		return err
	}
	statements, err := work(ctx, e)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil || len(statements) == 0 && !e.lent {
		return err
	}
	return e.commit(ctx, statements)
}

// begin starts the transaction, with its marker, and asks; behind it all, what
// time it is. A clock that stands is let go, and all of it is asked again.
func (e *editing) begin(ctx context.Context, asks []ask) error {
	asks = append(asks, ask{momentSQL, nil, 4, func(r anyRow) error {
		e.moment = r
		return nil
	}})
	start := []string{"SET TRANSACTION ISOLATION LEVEL READ COMMITTED", beginSQL, "SAVEPOINT " + e.db.marker}
	err := e.ask(ctx, start, asks)
	if number(err) == errInTransaction { // one that a session without autocommit has left open
		if err = e.exec(ctx, undoSQL); err == nil {
			err = e.ask(ctx, start, asks)
		}
	}
	if err != nil || e.db.opts.Now != nil || e.moment.integer(1) == 0 {
		return err
	}
	if err := e.exec(ctx, undoSQL); err != nil {
		return err
	}
	if err := unpin(ctx, e.q); err != nil {
		return err
	}
	return e.ask(ctx, start, asks)
}

// ask sends texts and asks, in this order. It may wait for rows that somebody
// else holds, no longer than Busy.
func (e *editing) ask(ctx context.Context, texts []string, asks []ask) error {
	return e.db.waiting(ctx, func(ctx context.Context) error {
		if e.guard != nil {
			return e.askAtOnce(ctx, texts, asks)
		}
		for _, text := range texts {
			if err := e.exec(ctx, text); err != nil {
				return err
			}
		}
		for _, a := range asks {
			if err := a.one(ctx, e.q); err != nil {
				return err
			}
		}
		return nil
	})
}

func (a ask) one(ctx context.Context, q runner) error {
	rows, err := q.QueryContext(ctx, a.query, a.args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		r, err := scanAny(rows, a.columns)
		if err == nil {
			err = a.row(r)
		}
		if err != nil {
			return err
		}
	}
	return errors.Join(rows.Err(), rows.Close())
}

// lendTo gives the transaction to fn for one turn. Its error is fn's, or one to
// run the transaction again for.
func (e *editing) lendTo(ctx context.Context, fn func(ctx context.Context, tx Tx) error) error {
	e.lent = true
	t := &turn{base: ctx}
	if err := e.lend(t); err != nil {
		return err
	}
	intact := false
	err := func() error {
		defer func() { intact = e.reclaim(t) }() // also after a panic or runtime.Goexit
		return fn(ctx, handle{conn: e.conn, turn: t, guarded: e.guard != nil})
	}()
	poison, _ := t.verdict()
	switch {
	case poison != nil && ctx.Err() == nil && retryable(poison):
		return poison
	case poison != nil:
		return declined{errors.Join(poison, err)}
	case err != nil:
		return declined{err}
	case !intact:
		return errLost
	}
	return nil
}

// commit writes and commits. The transaction is the one that was begun: its
// marker is released with it, and so the rows are still those that were locked.
func (e *editing) commit(ctx context.Context, statements []statement) error {
	if e.db.beforeCommit != nil {
		if err := e.db.beforeCommit(); err != nil {
			return err
		}
	}
	e.ended = true // from here on the connection belongs to the COMMIT
	err := e.db.late.commit(refrain.DefaultCommitWait, func() error { return e.send(context.WithoutCancel(ctx), statements) }, e.committed)
	switch {
	case err == nil, retryable(err):
		return err
	case failedBefore(err):
		return fmt.Errorf("mysql: operations: %w", err)
	}
	return unsure(err)
}
