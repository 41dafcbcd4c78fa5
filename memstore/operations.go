package memstore

import (
	"bytes"
	"fmt"

	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"
)

// Operations returns the store of external operations.
func (db *DB) Operations() operation.Store[Tx] { return operations{db} }

type operations struct{ db *DB }

// external is one operation as it is kept. It is never changed in place.
type external struct {
	columns operation.Operation // all but what text holds
	format  int
	text    []byte
}

// step is what an action has one operation of.
type step struct{ action, name string }

func keep(o operation.Operation) (external, error) {
	text, err := operation.EncodeText(o)
	return external{
		columns: operation.Operation{
			Ref: o.Ref, Seq: o.Seq, Version: o.Version, Action: o.Action, Step: o.Step,
			Provider: o.Provider, Partition: o.Partition, Input: bytes.Clone(o.Input),
			State: o.State, Disputed: o.Disputed,
			Created: record.Micro(o.Created), Due: record.Micro(o.Due), Final: record.Micro(o.Final),
		},
		format: operation.Format,
		text:   text,
	}, err
}

// operation is what is kept, or why it cannot be read.
func (e external) operation() (operation.Operation, error) {
	o := e.columns
	if e.format > operation.Format {
		return o, fmt.Errorf("memstore: operation %s: format %d: %w", o.Ref, e.format, record.ErrNewerFormat)
	}
	o.Input = bytes.Clone(o.Input)
	err := operation.DecodeText(e.text, &o)
	if err == nil && (o.State < record.Accepted || o.State > record.Rejected) {
		err = fmt.Errorf("operation %s: state %d", o.Ref, o.State)
	}
	if err != nil {
		return o, fmt.Errorf("memstore: %w: %w", record.RecordUnreadable, err)
	}
	return o, nil
}

// waits reports an operation that the later ones of its partition wait for.
func waits(o operation.Operation) bool { return !o.State.Final() && !o.Due.IsZero() }

// head returns the first operation of a partition that waits.
func (t *transaction) head(provider, partition string) (first external, ok bool) {
	for _, e := range t.db.externals.all(true) {
		c := e.columns
		if c.Provider == provider && c.Partition == partition && waits(c) && (!ok || c.Seq < first.columns.Seq) {
			first, ok = e, true
		}
	}
	return first, ok
}

// Woken implements [operation.Store]: there is no other process.
func (operations) Woken() <-chan struct{} { return nil }

// awaits reports whether there is an operation that settles the action.
func (t *transaction) awaits(action string) bool {
	for of := range t.db.steps.all(true) {
		if of.action == action {
			return true
		}
	}
	return false
}
