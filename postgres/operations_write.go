package postgres

import (
	"errors"
	"reflect"

	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"
)

// errRefChanged: an edit is not of what was seen.
var errRefChanged = errors.New("postgres: an edit of an operation keeps its ref and its record's")

// writing collects what one transaction writes, to write it at once.
type writing struct {
	l       *locking
	channel string

	written []operation.Operation
	puts    []putRow
	records []recordEdit // one of each record: the last
	passed  []operation.Operation
	audits  []statement
	due     bool // somebody else may find something to do
}

type recordEdit struct{ was, rec *record.Record }

// write adds an edit of what was seen. What an operation was accepted with stays.
func (w *writing) write(seen operation.Seen, edit operation.Edit) error {
	was := seen.Operation
	if o := edit.Put; o != nil {
		if o.Ref != was.Ref {
			return errRefChanged
		}
		o.Seq, o.Version = was.Seq, was.Version+1
		o.Action, o.Step, o.Provider, o.Partition = was.Action, was.Step, was.Provider, was.Partition
		o.Input, o.Created = was.Input, was.Created
		row, err := rowOf(*o, was.Version)
		if err != nil {
			return err
		}
		w.puts, w.written = append(w.puts, row), append(w.written, *o)
		if blocks(was) && !blocks(*o) {
			w.passed = append(w.passed, *o)
		}
		w.due = w.due || !o.Due.IsZero() && !o.Due.After(w.l.now)
	}
	if rec := edit.Record; rec != nil {
		if seen.Record == nil || seen.Record.Ref != rec.Ref || seen.Record.Identity != rec.Identity {
			return errRefChanged
		}
		rec.Version, rec.Format = seen.Record.Version+1, record.Format
		w.record(recordEdit{seen.Record, rec})
	}
	if edit.By != "" {
		ref := was.Ref
		if seen.Record != nil {
			ref = seen.Record.Ref
		}
		w.audits = append(w.audits, statement{w.l.store.sql.text(auditText),
			[]any{w.l.now.UnixMicro(), edit.By, edit.Action, ref, edit.Reason, edit.Detail}})
	}
	return nil
}

// shown is what whoever decides gets: theirs to change.
func shown(seen operation.Seen) operation.Seen {
	if seen.Record != nil {
		rec := *seen.Record
		seen.Record = &rec
	}
	return seen
}

// record keeps the last edit of a record: two operations may be of one action.
func (w *writing) record(edit recordEdit) {
	for i, other := range w.records {
		if other.rec.Ref == edit.rec.Ref {
			w.records[i] = edit
			return
		}
	}
	w.records = append(w.records, edit)
}

// statements write all of it, operations first.
func (w *writing) statements() ([]statement, error) {
	var all []statement
	if len(w.puts) > 0 {
		st, err := w.complete(putText, w.puts, len(w.puts))
		if err != nil {
			return nil, err
		}
		all = append(all, st)
	}
	all = append(all, w.passes()...)
	var mirrored []mirrorRow
	for _, e := range w.records {
		if mirrors(*e.was, *e.rec) {
			mirrored = append(mirrored, mirrorOf(e.rec, e.was.Version))
			continue
		}
		hash := e.rec.Identity.Hash()
		args, err := recordArgs(e.rec, hash)
		if err != nil {
			return nil, err
		}
		all = append(all, statement{w.l.store.sql.text(replaceText), append(args, packRef(e.was.Ref), e.was.Version, w.l.since)})
	}
	if len(mirrored) > 0 {
		st, err := w.complete(mirrorText, mirrored, len(mirrored))
		if err != nil {
			return nil, err
		}
		all = append(all, st)
	}
	all = append(all, w.audits...)
	if w.due && w.channel != "" {
		all = append(all, statement{`SELECT pg_notify($1::text, '` + operationsPayload + `')`, []any{w.channel}})
	}
	return all, nil
}

// complete is a statement that writes all of the rows or fails.
func (w *writing) complete(query string, rows any, n int) (statement, error) {
	text, err := rowsOf(rows)
	return statement{w.l.store.sql.text(query), []any{text, w.l.since, int64(n)}}, err
}

// passes make the next of each partition due whose head was passed. Where two
// transactions pass two of one partition at once, the later one may not see that
// it left the head; the next one is due when it was before.
func (w *writing) passes() []statement {
	first := make(map[string]operation.Operation)
	for _, o := range w.passed {
		if f, ok := first[o.Partition]; !ok || o.Seq < f.Seq {
			first[o.Partition] = o
		}
	}
	var all []statement
	for _, o := range w.passed {
		if first[o.Partition].Seq == o.Seq {
			all = append(all, statement{w.l.store.sql.text(passText),
				[]any{o.Provider, o.Partition, o.Seq, w.l.now.UnixMicro(), int64(record.Submitted)}})
		}
	}
	return all
}

// blocks reports an operation that later ones of its partition wait for.
func blocks(o operation.Operation) bool {
	return o.Partition != "" && !o.State.Final() && !o.Due.IsZero()
}

// mirrors reports that two versions of a record differ in nothing but what
// mirrorText writes.
func mirrors(was, rec record.Record) bool {
	was.Version, was.Format, was.State, was.Disputed, was.Lease = rec.Version, rec.Format, rec.State, rec.Disputed, rec.Lease
	return reflect.DeepEqual(was, rec)
}
