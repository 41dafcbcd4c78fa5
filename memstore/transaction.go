package memstore

import (
	"context"
	"fmt"
	"sync"

	"github.com/refrain-dev/refrain/record"
)

// transaction is the one that writes now.
type transaction struct {
	db      *DB
	callers bool // the caller's, who may keep it open after the effect
	held    []record.Identity
	after   []func() // what its COMMIT does beside the tables, under DB.mu

	mu     sync.Mutex // against a handle that is used in another goroutine
	undo   []func()
	writes int
	poison error // a statement failed and the effect must not end well
	over   bool
}

// begin waits for its turn under ctx.
func (db *DB) begin(ctx context.Context) (*transaction, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case db.writer <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("memstore: waiting for the running transaction: %w", context.Cause(ctx))
	}
	t := &transaction{db: db}
	db.mu.RLock()
	err := db.readable(ctx)
	db.mu.RUnlock()
	if err != nil {
		t.end()
		return nil, err
	}
	return t, nil
}

// within runs f in a transaction and commits it, or neither.
func (db *DB) within(ctx context.Context, f func(*transaction) error) error {
	t, err := db.begin(ctx)
	if err != nil {
		return err
	}
	defer t.end()
	if err := f(t); err != nil {
		return err
	}
	return t.commit()
}

// commit makes the changes visible, all at one instant, or none.
func (t *transaction) commit() error {
	defer t.end()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return ErrDone
	}
	if t.poison != nil {
		return t.poison
	}
	if t.db.options.Commit != nil {
		if err := t.db.options.Commit(); err != nil {
			return fmt.Errorf("memstore: COMMIT: %w", err)
		}
	}
	t.db.mu.Lock()
	defer t.db.mu.Unlock()
	if t.db.closed {
		return ErrClosed
	}
	for _, table := range t.db.tables() {
		table.apply()
	}
	for _, f := range t.after {
		f()
	}
	return nil
}

// audit leaves a line of what is committed.
func (t *transaction) audit(line Audit) {
	t.after = append(t.after, func() { t.db.audits = append(t.db.audits, line) })
}

// end drops what was not committed and lets the next one in. Deferred, it runs
// for a panic and for runtime.Goexit too.
func (t *transaction) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return
	}
	t.over = true
	for _, table := range t.db.tables() {
		table.discard()
	}
	t.db.mu.Lock()
	for _, id := range t.held {
		delete(t.db.held, id)
	}
	t.db.mu.Unlock()
	<-t.db.writer
}

// hold shows others that id is claimed although its record is not visible.
func (t *transaction) hold(id record.Identity) {
	t.held = append(t.held, id)
	t.db.mu.Lock()
	t.db.held[id] = true
	t.db.mu.Unlock()
}

// savepoint is where a transaction can go back to.
type savepoint struct {
	undo, writes int
	poison       error
}

func (t *transaction) savepoint() savepoint {
	t.mu.Lock()
	defer t.mu.Unlock()
	return savepoint{len(t.undo), t.writes, t.poison}
}

func (t *transaction) rollbackTo(s savepoint) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := len(t.undo) - 1; i >= s.undo; i-- {
		t.undo[i]()
	}
	t.undo, t.writes, t.poison = t.undo[:s.undo], s.writes, s.poison
}
