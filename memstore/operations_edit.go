package memstore

import (
	"context"
	"errors"
	"time"

	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

// editing is one transaction that edits operations.
type editing struct {
	t      *transaction
	now    time.Time
	lines  []Audit
	passed []operation.Operation // of a partition, and waited for no more
}

// editing runs work in a transaction and commits what it wrote, or neither.
func (s operations) editing(ctx context.Context, work func(*transaction, *editing) error) error {
	db := s.db
	var e *editing
	err := db.within(ctx, func(t *transaction) error {
		e = &editing{t: t, now: db.options.Now()}
		if err := work(t, e); err != nil {
			return err
		}
		e.release()
		return ctx.Err()
	})
	if err == nil {
		db.mu.Lock()
		db.audits = append(db.audits, e.lines...)
		db.mu.Unlock()
	}
	return err
}

// see is an operation and the record that waits for it, as the transaction
// finds them.
func (t *transaction) see(row external, now time.Time) (seen operation.Seen, err error) {
	seen.Now = now
	if seen.Operation, err = row.operation(); err != nil {
		return seen, err
	}
	if id, ok := t.db.refs.get(seen.Operation.Action, true); ok {
		found, err := t.db.seen(id, true)
		if err != nil {
			return seen, err
		}
		seen.Record = found.Record
	}
	seen.LostUntil = upkeep.LostUntil(t.db.fencesOf(true), seen.Record)
	return seen, nil
}

// write writes an edit of what was seen. What an operation was accepted with
// stays.
func (e *editing) write(seen operation.Seen, edit operation.Edit) error {
	t, was := e.t, seen.Operation
	if o := edit.Put; o != nil {
		if o.Ref != was.Ref {
			return errors.New("memstore: an edit of an operation keeps its ref")
		}
		o.Seq, o.Version = was.Seq, was.Version+1
		o.Action, o.Step, o.Provider, o.Partition = was.Action, was.Step, was.Provider, was.Partition
		o.Input, o.Created = was.Input, was.Created
		row, err := keep(*o)
		if err != nil {
			return err
		}
		t.db.externals.put(t, o.Ref, row)
		if o.Partition != "" && waits(was) && !waits(*o) {
			e.passed = append(e.passed, *o)
		}
	}
	if edit.Record != nil {
		if seen.Record == nil || seen.Record.Ref != edit.Record.Ref {
			return errors.New("memstore: an edit of a record keeps its ref")
		}
		if err := t.apply(seen.Record.Identity, record.Seen{Record: seen.Record}, record.Edit{Put: edit.Record}); err != nil {
			return err
		}
	}
	if edit.By != "" {
		line := Audit{At: e.now, By: edit.By, Action: edit.Action, Ref: was.Ref, Reason: edit.Reason, Detail: edit.Detail}
		if seen.Record != nil {
			line.Ref = seen.Record.Ref
		}
		e.lines = append(e.lines, line)
	}
	return nil
}

// release makes the next one of a partition due at once when the head is passed.
// One that is under way has its lease for Due.
func (e *editing) release() {
	for _, passed := range e.passed {
		head, ok := e.t.head(passed.Provider, passed.Partition)
		c := head.columns
		if !ok || c.Seq < passed.Seq || c.State == record.Submitted || !c.Due.After(e.now) {
			continue
		}
		head.columns.Due = record.Micro(e.now)
		head.columns.Version++
		e.t.db.externals.put(e.t, c.Ref, head)
	}
}
