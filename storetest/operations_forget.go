package storetest

import (
	"errors"
	"time"

	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"
)

// forgetsOperations demands how many are removed.
func (o *operations[T]) forgetsOperations(before time.Time, limit, want int) {
	o.t.Helper()
	if n, err := o.store.Forget(o.ctx, before, limit); err != nil || n != want {
		o.t.Errorf("Forget(%v, %d) = %d, %v; want %d", before, limit, n, err, want)
	}
}

// forgetOperations that are settled, undisputed and old enough, and no others.
func forgetOperations[T any](o *operations[T]) {
	final := epoch.Add(time.Minute)
	stays := map[string]string{}
	for name, change := range map[string]func(*operation.Operation){
		"accepted":  func(*operation.Operation) {},
		"submitted": func(op *operation.Operation) { op.State, op.Lease, op.Due = record.Submitted, epoch, epoch },
		"parked":    park,
		"disputed":  func(op *operation.Operation) { settle(op); op.Disputed = true },
		"younger":   func(op *operation.Operation) { settle(op); op.Final = final },
	} {
		op := o.intent()
		o.adds(op)
		o.puts(op.Ref, change)
		stays[name] = op.Ref
	}
	var goes []string
	for i := range 5 {
		op := o.intent()
		o.adds(op)
		o.puts(op.Ref, func(op *operation.Operation) {
			settle(op)
			op.Final = final.Add(-time.Microsecond)
			if i%2 == 0 {
				op.State = record.Rejected
			}
		})
		goes = append(goes, op.Ref)
	}
	o.forgetsOperations(final, 0, 0)
	o.forgetsOperations(final, -1, 0)
	o.forgetsOperations(final.Add(-time.Microsecond), 10, 0)
	o.forgetsOperations(final, 2, 2)
	o.rows(8)
	o.forgetsOperations(final, 10, 3)
	o.forgetsOperations(final, 10, 0)
	for _, ref := range goes {
		if _, _, err := o.store.Load(o.ctx, ref); !errors.Is(err, record.ErrNotFound) {
			o.t.Errorf("forgotten, and Load: %v", err)
		}
	}
	for name, ref := range stays {
		if _, _, err := o.store.Load(o.ctx, ref); err != nil {
			o.t.Errorf("the one that is %s: %v", name, err)
		}
	}
	o.adds(o.intent())
	o.forgetsOperations(epoch.Add(time.Hour), 10, 1) // the younger one
	o.rows(5)
}

// forgetOperationsOfTheForgotten: not while their action is remembered.
func forgetOperationsOfTheForgotten[T any](o *operations[T]) {
	call, op := o.waiting("k")
	_, open := o.waiting("open")
	o.takes(1, opens, op.Ref)
	o.edits(op.Ref, func(seen operation.Seen) operation.Edit {
		return settles(seen, operation.Reply{End: operation.Confirmed}, record.Result{Status: 201})
	})
	o.puts(open.Ref, settle) // its record still waits
	later := epoch.Add(1000 * time.Hour)
	o.forgetsOperations(later, 10, 0)
	o.clock.advance(o.contract.RememberFor)
	o.forgetsOperations(later, 10, 0) // its time is over, and it is still there
	o.forget(10, 1)
	o.forgets(call)
	o.forgetsOperations(later, 10, 1)
	o.rows(1)
	if _, _, err := o.store.Load(o.ctx, open.Ref); err != nil {
		o.t.Errorf("the one whose record waits: %v", err)
	}
}

// acceptedOutlivesAll: a record that waits is not forgotten by age, and neither
// is what it waits for.
func acceptedOutlivesAll[T any](o *operations[T]) {
	call, op := o.waiting("k")
	o.clock.advance(1000 * o.contract.RememberFor)
	o.forget(10, 0)
	o.forgetsOperations(o.clock.Now(), 10, 0)
	o.repeatsAreInProgress(call, op.Action)
	o.same("untouched", o.stored(op.Ref), op)
	o.takes(1, touch, op.Ref)
}
