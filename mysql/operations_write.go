package mysql

import (
	"errors"
	"fmt"
	"time"

	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"
)

// errRefChanged: an edit is not of what was seen.
var errRefChanged = errors.New("mysql: an edit of an operation keeps its ref and its record's")

// writing collects what one transaction writes, to write it at once.
type writing struct {
	now    time.Time
	packet int64 // the longest row the server sends

	written []operation.Operation
	puts    []statement
	records []statement
	edited  map[string]int // of records: the last edit of each counts
	passed  []operation.Operation
	audits  []statement
}

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
		args, err := putArgs(*o, was.Version)
		if err != nil {
			return err
		}
		put := statement{query: putSQL, args: args}
		if err := w.fits(put.size() + len(o.Input)); err != nil {
			return err
		}
		w.puts, w.written = append(w.puts, put), append(w.written, *o)
		if blocks(was) && !blocks(*o) {
			w.passed = append(w.passed, *o)
		}
	}
	if rec := edit.Record; rec != nil {
		if seen.Record == nil || seen.Record.Ref != rec.Ref || seen.Record.Identity != rec.Identity {
			return errRefChanged
		}
		if err := w.record(rec, seen.Record.Version); err != nil {
			return err
		}
	}
	if edit.By != "" {
		ref := was.Ref
		if seen.Record != nil {
			ref = seen.Record.Ref
		}
		w.audits = append(w.audits, statement{query: auditSQL, args: auditArgs(
			Audit{At: w.now, By: edit.By, Action: edit.Action, Ref: ref, Reason: edit.Reason, Detail: edit.Detail})})
	}
	return nil
}

// record writes the last edit of a record: two operations may be of one action.
func (w *writing) record(rec *record.Record, seen int64) error {
	rec.Version, rec.Format = seen+1, record.Format
	args, err := replaceArgs(rec, seen)
	if err != nil {
		return err
	}
	if err := w.fits(int(textSize(rec))); err != nil {
		return err
	}
	if i, again := w.edited[rec.Ref]; again {
		w.records[i].args = args
		return nil
	}
	if w.edited == nil {
		w.edited = make(map[string]int)
	}
	w.edited[rec.Ref] = len(w.records)
	w.records = append(w.records, statement{query: replaceSQL, args: args})
	return nil
}

// fits refuses a row that could be written and not read.
func (w *writing) fits(bytes int) error {
	if most := w.packet - fixedBytes; int64(bytes) > most {
		return fmt.Errorf("mysql: %d bytes in a row, the server's max_allowed_packet leaves %d", bytes, most)
	}
	return nil
}

// statements write all of it, operations first.
func (w *writing) statements() []statement {
	all := append(w.puts, w.passes()...)
	all = append(all, w.records...)
	return append(all, w.audits...)
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
			all = append(all,
				statement{query: headSeqSQL, args: []any{[]byte(o.Provider), []byte(o.Partition)}},
				statement{query: passSQL, optional: true, args: []any{micros(w.now), o.Seq, micros(w.now), int64(record.Submitted)}})
		}
	}
	return all
}

// shown is what whoever decides gets: theirs to change.
func shown(seen operation.Seen) operation.Seen {
	if seen.Record != nil {
		rec := *seen.Record
		seen.Record = &rec
	}
	return seen
}
