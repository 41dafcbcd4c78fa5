package storetest

import (
	"errors"
	"time"

	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"
)

// addInACallersTransaction commits or rolls back with it and is seen by nobody
// before.
func addInACallersTransaction[T any](o *operations[T]) {
	for _, commit := range []bool{false, true} {
		op := o.intent()
		tx, end := o.begin()
		o.business(o.ctx, tx, "order")
		o.addsTo(tx, op)
		if _, _, err := o.store.Load(o.ctx, op.Ref); !errors.Is(err, record.ErrNotFound) {
			o.t.Errorf("before COMMIT: %v", err)
		}
		end(commit)
		if ops, err := o.store.List(o.ctx, operation.Operation{}, 0); err != nil || len(ops) == 1 != commit {
			o.t.Errorf("committed = %t: %v, %v", commit, refs(ops), err)
		}
	}
	o.rows(1)
	o.effects(1)
	late := o.intent()
	tx, end := o.begin()
	end(true)
	if err := o.store.Add(o.ctx, tx, late); err == nil {
		o.t.Error("added to a transaction that has ended")
	}
	o.rows(1)
}

// addUnderExecuteIn commits or rolls back with the caller's transaction and its
// record.
func addUnderExecuteIn[T any](o *operations[T]) {
	call, op := o.call("k", "one"), o.intent()
	for _, commit := range []bool{false, true} {
		tx, end := o.begin()
		out, err := o.ExecuteIn(o.ctx, tx, call, o.accepting(call, op))
		o.isAccepted(out, err)
		again, err := o.ExecuteIn(o.ctx, tx, call, o.accepting(call, op))
		o.isRefusal(again, err, "6", record.InProgress)
		end(commit)
		if commit {
			o.repeatsAreInProgress(call, out.Ref)
			continue
		}
		o.rows(0)
		o.receipts(0)
		o.clock.advance(time.Second)
	}
	o.rows(1)
	o.effects(1)
	if stored := o.stored(op.Ref); !stored.Due.Equal(epoch.Add(time.Second)) {
		o.t.Errorf("added %+v", stored)
	}
}
