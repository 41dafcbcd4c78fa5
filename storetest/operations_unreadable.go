package storetest

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"
)

func (o *operations[T]) damages(ref string, how Damage) {
	o.t.Helper()
	if err := o.kept.DamageOperation(o.ctx, ref, how); err != nil {
		o.t.Fatalf("DamageOperation: %v", err)
	}
}

// everything is what each way to read, write or remove an operation says.
func (o *operations[T]) everything(ctx context.Context, store operation.Store[T], tx T, op operation.Operation) map[string]error {
	_, _, loaded := store.Load(ctx, op.Ref)
	_, of := store.Of(ctx, op.Action)
	_, listed := store.List(ctx, operation.Operation{Step: op.Step}, 0)
	_, _, took := store.Take(ctx, op.Provider, 10, touch)
	changed := store.Change(ctx, op.Ref, func(_ context.Context, _ T, seen operation.Seen) (operation.Edit, error) { return touch(seen), nil })
	_, _, due := store.Due(ctx)
	_, forgot := store.Forget(ctx, epoch.Add(time.Hour), 10)
	added := store.Add(ctx, tx, o.intent())
	return map[string]error{"Load": loaded, "Of": of, "List": listed, "Take": took, "Change": changed, "Forget": forgot, "Add": added, "Due": due}
}

// unreadableOperation: what cannot be read is an error, never none, and is left
// as it is, but for when it is looked at next.
func unreadableOperation[T any](o *operations[T]) {
	_, op := o.waiting("k")
	other := o.adds(o.intent(func(op *operation.Operation) { op.Provider, op.Step = "mail", "mail" }))[0]
	o.damages(op.Ref, Garbled)
	tx, end := o.begin()
	end(false)
	for what, err := range o.everything(o.ctx, o.beside(), tx, op) {
		if what != "Add" && what != "Forget" && what != "Due" && !errors.Is(err, record.RecordUnreadable) {
			o.t.Errorf("%s: %v, want RecordUnreadable", what, err)
		}
	}
	o.forgetsOperations(epoch.Add(time.Hour), 10, 0)
	o.rows(2)
	o.same("the other one", o.stored(other.Ref), other)
	o.puts(other.Ref, postpone)
}

// unread demands that err names what cannot be read.
func (o *operations[T]) unread(what string, err error, refs ...string) {
	o.t.Helper()
	if !errors.Is(err, record.RecordUnreadable) {
		o.t.Errorf("%s: %v, want RecordUnreadable", what, err)
		return
	}
	for _, ref := range refs {
		if !strings.Contains(err.Error(), ref) {
			o.t.Errorf("%s: %v does not name %s", what, err, ref)
		}
	}
}

// unreadableIsPutAside: what cannot be read stands in nobody's way, and does not
// come back at once.
func unreadableIsPutAside[T any](o *operations[T]) {
	bad, good := o.intent(), o.intent()
	call, waiting := o.waiting("k") // whose record will be the one that cannot be read
	head, next := o.intent(inPartition("order-1")), o.intent(inPartition("order-1"))
	o.adds(bad, good, head, next)
	o.damages(bad.Ref, Garbled)
	o.damages(head.Ref, Garbled)
	o.damage(call, Garbled)
	o.clock.advance(time.Second)
	now := o.clock.Now()

	var behind time.Time
	taken, at, err := o.beside().Take(o.ctx, provider, 10, func(seen operation.Seen) operation.Edit {
		if seen.Operation.Ref == next.Ref {
			behind = seen.Behind
		}
		return touch(seen)
	})
	o.unread("Take", err, bad.Ref, head.Ref, waiting.Ref)
	if got := refs(taken); !reflect.DeepEqual(got, []string{good.Ref, next.Ref}) || !o.isNow(at) {
		o.t.Errorf("took %v at %v", got, at)
	}
	o.same("as it was written", taken[0], o.stored(good.Ref))
	if behind.IsZero() {
		o.t.Error("the next one of a partition does not wait for its head, which cannot be read")
	}
	o.takes(10, touch, good.Ref, next.Ref)
	o.clock.set(now.Add(operation.Aside - time.Microsecond))
	o.takes(10, touch, good.Ref, next.Ref)
	o.clock.set(now.Add(operation.Aside))
	_, _, err = o.store.Take(o.ctx, provider, 10, touch)
	o.unread("Take, later", err, bad.Ref, head.Ref, waiting.Ref)
	o.same("its Due alone", o.stored(waiting.Ref), func() operation.Operation {
		waiting.Due = now.Add(2 * operation.Aside)
		return waiting
	}())
	o.rows(5)
}

// unreadableIsListed as an error beside the rest.
func unreadableIsListed[T any](o *operations[T]) {
	a, bad, newer, b := o.intent(), o.intent(), o.intent(), o.intent()
	o.adds(a, bad, newer, b)
	o.damages(bad.Ref, Garbled)
	list := func(want ...string) error {
		got, err := o.beside().List(o.ctx, operation.Operation{}, 10)
		if !reflect.DeepEqual(refs(got), want) {
			o.t.Errorf("List: %v, want %v", refs(got), want)
		}
		return err
	}
	o.unread("List", list(a.Ref, newer.Ref, b.Ref), bad.Ref)
	o.damages(newer.Ref, Newer)
	err := list(a.Ref, b.Ref)
	o.unread("List", err, bad.Ref, newer.Ref)
	if !errors.Is(err, record.ErrNewerFormat) {
		o.t.Errorf("List: %v, want ErrNewerFormat", err)
	}
}

// newerOperation: during a rolling upgrade an older binary leaves alone what it
// does not know, and takes the rest.
func newerOperation[T any](o *operations[T]) {
	in := inPartition("order-1")
	op, next, free := o.intent(in), o.intent(in), o.intent()
	o.adds(op, next, free)
	o.damages(op.Ref, Newer)
	if _, _, err := o.store.Load(o.ctx, op.Ref); !errors.Is(err, record.ErrNewerFormat) {
		o.t.Errorf("Load: %v, want ErrNewerFormat", err)
	}
	if _, err := o.store.List(o.ctx, operation.Operation{}, 0); !errors.Is(err, record.ErrNewerFormat) {
		o.t.Errorf("List: %v, want ErrNewerFormat", err)
	}
	if err := o.changes(op.Ref, nil); !errors.Is(err, record.ErrNewerFormat) {
		o.t.Errorf("Change: %v, want ErrNewerFormat", err)
	}
	seen := o.offered()
	if _, ok := seen[op.Ref]; ok || len(seen) != 2 || !seen[next.Ref].Behind.Equal(epoch) {
		o.t.Errorf("offered %+v", seen)
	}
	o.takes(1, touch, next.Ref) // it does not take up the limit
	settled := o.intent()
	o.adds(settled)
	o.puts(settled.Ref, settle)
	o.damages(settled.Ref, Newer)
	o.forgetsOperations(epoch.Add(time.Hour), 10, 0)
	o.rows(4)
}

// newerRecordOfAnOperation: the same for what waits for one; it is never taken
// for an operation nobody waits for.
func newerRecordOfAnOperation[T any](o *operations[T]) {
	call, op := o.waiting("k")
	free := o.intent()
	o.adds(free)
	o.damage(call, Newer)
	o.takes(10, touch, free.Ref)
	if err := o.changes(op.Ref, nil); !errors.Is(err, record.ErrNewerFormat) {
		o.t.Errorf("Change: %v, want ErrNewerFormat", err)
	}
	o.same("untouched", o.stored(op.Ref), op)
}

// cancelledOperations: a context that has ended is an error and writes nothing.
func cancelledOperations[T any](o *operations[T]) {
	call, op := o.waiting("k")
	done := o.adds(o.intent())[0]
	done = o.puts(done.Ref, settle)
	ctx, cancel := context.WithCancel(o.ctx)
	cancel()
	tx, end := o.begin()
	added := o.store.Add(ctx, tx, o.intent())
	end(false)
	for what, err := range o.everything(ctx, o.store, tx, op) {
		if what == "Add" {
			err = added
		}
		if err == nil || errors.Is(err, record.ErrNotFound) {
			o.t.Errorf("%s: %v", what, err)
		}
	}
	o.same("untouched", o.stored(op.Ref), op)
	o.same("untouched", o.stored(done.Ref), done)
	o.rows(2)
	o.repeatsAreInProgress(call, op.Action)
}

// closedOperations: a store that is closed does not say that there are none.
func closedOperations[T any](o *operations[T]) {
	_, op := o.waiting("k")
	o.broken = true
	tx, end := o.begin()
	end(false)
	if err := o.Close(); err != nil {
		o.t.Fatal(err)
	}
	for what, err := range o.everything(o.ctx, o.store, tx, op) {
		if err == nil || errors.Is(err, record.ErrNotFound) {
			o.t.Errorf("%s of a closed store: %v", what, err)
		}
	}
}

// unmigratedOperations: a database without the table says so.
func unmigratedOperations[T any](o *operations[T]) {
	empty := o.kept.Unmigrated(o.t)
	tx, end, err := empty.Begin(o.ctx)
	if err != nil {
		o.t.Fatal(err)
	}
	op := o.intent(func(op *operation.Operation) { op.Action = record.NewRef(epoch) })
	added := empty.Operations.Add(o.ctx, tx, op)
	_ = end(false) // the statement that failed may have ended it
	for what, err := range o.everything(o.ctx, empty.Operations, tx, op) {
		if what == "Add" {
			err = added
		}
		if !errors.Is(err, refrain.ErrNotMigrated) {
			o.t.Errorf("%s: %v, want ErrNotMigrated", what, err)
		}
	}
}
