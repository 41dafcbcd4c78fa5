package sqlite

import (
	"context"
	"errors"
	"time"

	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"
)

// editing is one transaction that edits operations.
type editing struct {
	q      runner
	now    time.Time
	passed []operation.Operation // of a partition, and waited for no more
	aside  []unreadable
}

// see finds an operation and the record that waits for it.
func (e *editing) see(ref string) (operation.Seen, error) {
	o, err := findOperation(context.Background(), e.q, ref)
	if err != nil {
		return operation.Seen{}, err
	}
	seen := operation.Seen{Operation: o, Now: e.now}
	return seen, e.waiting(&seen)
}

const lostUntilSQL = `SELECT max(until) FROM refrain_fence WHERE operation IN ('', ?) AND scope IN ('', ?)`

// waiting adds the record that waits, if it is still there, and until when what
// happened may have been lost.
func (e *editing) waiting(seen *operation.Seen) error {
	if err := e.recordOf(seen); err != nil {
		return err
	}
	var id record.Identity
	if seen.Record != nil {
		id = seen.Record.Identity
	}
	return e.q.row(context.Background(), lostUntilSQL, func(r row) error {
		seen.LostUntil = instant(r, 0)
		return nil
	}, id.Operation, id.Scope)
}

func (e *editing) recordOf(seen *operation.Seen) error {
	if seen.Operation.Action == "" {
		return nil
	}
	rec, err := find(context.Background(), e.q, seen.Operation.Action)
	switch {
	case errors.Is(err, record.ErrNotFound):
		return nil
	case err != nil:
		return err
	}
	seen.Record = &rec
	return nil
}

// write writes an edit of what was seen.
func (e *editing) write(seen operation.Seen, edit operation.Edit) error {
	if o := edit.Put; o != nil {
		if err := e.put(seen.Operation, o); err != nil {
			return err
		}
	}
	ref, ctx := seen.Operation.Ref, context.Background()
	if seen.Record != nil {
		ref = seen.Record.Ref
	}
	if rec := edit.Record; rec != nil {
		if seen.Record == nil || rec.Ref != ref || rec.Identity != seen.Record.Identity {
			return errors.New("sqlite: an edit of a record keeps its ref and identity")
		}
		if err := apply(ctx, e.q, rec.Identity, rec.Identity.Hash(), of(seen.Record), record.Edit{Put: rec}, e.now); err != nil {
			return err
		}
	}
	if edit.By == "" {
		return nil
	}
	return audit(ctx, e.q, e.now, edit.By, edit.Action, ref, edit.Reason, edit.Detail)
}

// of is a lookup's answer that tells of nothing but rec.
func of(rec *record.Record) seen { return seen{Seen: record.Seen{Record: rec}} }

// put writes next in place of was. What an operation was accepted with stays.
func (e *editing) put(was operation.Operation, next *operation.Operation) error {
	if next.Ref != was.Ref {
		return errors.New("sqlite: an edit of an operation keeps its ref")
	}
	next.Seq, next.Version = was.Seq, was.Version+1
	next.Action, next.Step, next.Provider, next.Partition = was.Action, was.Step, was.Provider, was.Partition
	next.Input, next.Created = was.Input, was.Created
	text, err := operation.EncodeText(*next)
	if err != nil {
		return err
	}
	err = one(e.q.exec(context.Background(), `UPDATE refrain_external SET version = ?, state = ?, disputed = ?, due = ?, final = ?, format = ?, data = ?
		WHERE seq = ? AND version = ?`, next.Version, int(next.State), next.Disputed, micros(next.Due), micros(next.Final),
		operation.Format, string(text), was.Seq, was.Version))
	if err == nil && next.Partition != "" && waits(was) && !waits(*next) {
		e.passed = append(e.passed, *next)
	}
	return err
}

// waits reports an operation that the later ones of its partition wait for.
func waits(o operation.Operation) bool { return !o.State.Final() && !o.Due.IsZero() }

const headSQL = `SELECT h.seq FROM refrain_external h WHERE h.provider = ?1 AND h.partition = ?2 AND h.partition <> ''
 AND h.due IS NOT NULL AND h.final IS NULL ORDER BY h.seq LIMIT 1`

// releaseSQL makes the head due at once. One that is under way has its lease for
// Due.
const releaseSQL = `UPDATE refrain_external SET due = ?3, version = version + 1
 WHERE seq = (` + headSQL + `) AND seq > ?4 AND due > ?3 AND state <> ?5`

// release lets the next one of a partition go when the head is passed.
func (e *editing) release() error {
	for _, passed := range e.passed {
		_, err := e.q.exec(context.Background(), releaseSQL, passed.Provider, passed.Partition, e.now.UnixMicro(), passed.Seq, int(record.Submitted))
		if err != nil {
			return err
		}
	}
	return nil
}
