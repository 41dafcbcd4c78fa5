package storetest

import (
	"context"
	"errors"
	"reflect"
	"sync"
	"time"

	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"
)

// changes is Change; nil decides nothing and must not be asked.
func (o *operations[T]) changes(ref string, decide func(ctx context.Context, tx T, seen operation.Seen) (operation.Edit, error)) error {
	if decide == nil {
		decide = func(_ context.Context, _ T, seen operation.Seen) (operation.Edit, error) {
			o.t.Errorf("asked about %+v", seen)
			return operation.Edit{}, nil
		}
	}
	return o.store.Change(o.ctx, ref, decide)
}

// operationChangeIsOne: decide is shown what is stored; its edit and what it
// wrote with the transaction are there when Change returns.
func operationChangeIsOne[T any](o *operations[T]) {
	_, op := o.waiting("k")
	o.clock.advance(time.Second)
	rec, err := o.Store.Find(o.ctx, op.Action)
	if err != nil {
		o.t.Fatal(err)
	}
	err = o.changes(op.Ref, func(ctx context.Context, tx T, seen operation.Seen) (operation.Edit, error) {
		o.same("shown", seen.Operation, op)
		if seen.Record == nil || !reflect.DeepEqual(*seen.Record, rec) || !o.isNow(seen.Now) || !seen.Behind.IsZero() {
			o.t.Errorf("shown at %v with %+v, behind %v", seen.Now, seen.Record, seen.Behind)
		}
		o.business(ctx, tx, "written with it")
		return opens(seen), nil
	})
	if err != nil {
		o.t.Fatal(err)
	}
	stored := o.storedAt(o.beside(), op.Ref)
	if stored.State != record.Submitted || stored.Version != op.Version+1 || !stored.Due.Equal(epoch.Add(time.Second+time.Minute)) {
		o.t.Errorf("changed to %+v", stored)
	}
	after, err := o.connect().Store.Find(o.ctx, op.Action)
	if err != nil || after.State != record.Submitted || !after.Lease.Equal(stored.Lease) || after.Version != rec.Version+1 {
		o.t.Errorf("the record is %+v, %v", after, err)
	}
	o.effects(2)

	err = o.changes(op.Ref, func(ctx context.Context, tx T, _ operation.Seen) (operation.Edit, error) {
		o.business(ctx, tx, "written alone")
		return operation.Edit{}, nil
	})
	if err != nil {
		o.t.Fatal(err)
	}
	o.same("after the zero edit", o.stored(op.Ref), stored)
	o.effects(3)

	message := o.adds(o.intent())[0]
	o.edits(message.Ref, func(seen operation.Seen) operation.Edit {
		if seen.Record != nil {
			o.t.Errorf("a message nobody waits for has record %+v", seen.Record)
		}
		return operation.Edit{}
	})
}

// operationChangeIsTakenBack: an error, a panic or the end of the caller's
// context leaves neither the edit nor what was written with it.
func operationChangeIsTakenBack[T any](o *operations[T]) {
	call, op := o.waiting("k")
	for name, end := range map[string]func(cancel func()) error{
		"error":        func(func()) error { return errInjected },
		"panic":        func(func()) error { panic("boom") },
		"cancellation": func(cancel func()) error { cancel(); return nil },
	} {
		func() {
			ctx, cancel := context.WithCancel(o.ctx)
			defer cancel()
			defer func() {
				if value := recover(); (value != nil) != (name == "panic") {
					o.t.Errorf("%s: recovered %v", name, value)
				}
			}()
			err := o.store.Change(ctx, op.Ref, func(ctx context.Context, tx T, seen operation.Seen) (operation.Edit, error) {
				o.business(ctx, tx, name)
				edit := opens(seen)
				edit.By, edit.Action, edit.Reason = "ada", "resolve", "none"
				return edit, end(cancel)
			})
			if err == nil || name == "error" && !errors.Is(err, errInjected) {
				o.t.Errorf("%s: Change: %v", name, err)
			}
		}()
		o.same(name, o.stored(op.Ref), op)
		o.repeatsAreInProgress(call, op.Action)
		o.effects(1)
		o.audited()
	}
	o.puts(op.Ref, postpone) // and nothing is held
}

// operationChangePoisoned: a decision that ignores a fatal error of its
// transaction commits nothing.
func operationChangePoisoned[T any](o *operations[T]) {
	_, op := o.waiting("k")
	err := o.changes(op.Ref, func(ctx context.Context, tx T, seen operation.Seen) (operation.Edit, error) {
		o.business(ctx, tx, "half")
		if err := o.FailStatement(ctx, tx); err == nil {
			o.t.Error("FailStatement did not fail")
		}
		return opens(seen), nil
	})
	if err == nil {
		o.t.Error("Change: no error")
	}
	o.same("afterwards", o.stored(op.Ref), op)
	o.effects(1)
}

// operationChangeIsExclusive: each change sees those before it.
func operationChangeIsExclusive[T any](o *operations[T]) {
	_, op := o.waiting("k")
	stores := [2]operation.Store[T]{o.store, o.beside()}
	const workers, each = 8, 4
	var done sync.WaitGroup
	for i := range workers {
		done.Go(func() {
			for range each {
				err := stores[i%2].Change(o.ctx, op.Ref, func(_ context.Context, _ T, seen operation.Seen) (operation.Edit, error) {
					seen.Operation.Tries++
					seen.Record.Attempt++
					return operation.Edit{Put: &seen.Operation, Record: seen.Record}, nil
				})
				if err != nil {
					o.t.Errorf("Change: %v", err)
				}
			}
		})
	}
	done.Wait()
	if got := o.stored(op.Ref); got.Tries != workers*each || got.Version != op.Version+workers*each {
		o.t.Errorf("%d tries in version %d after %d changes", got.Tries, got.Version, workers*each)
	}
	if rec, err := o.Store.Find(o.ctx, op.Action); err != nil || rec.Attempt != 1+workers*each {
		o.t.Errorf("the record has %d attempts after %d changes of it, %v", rec.Attempt, workers*each, err)
	}
}

// operationChangeAudits what an operator did, about the record or, where there
// is none, about the operation; machines leave no line.
func operationChangeAudits[T any](o *operations[T]) {
	_, op := o.waiting("k")
	message := o.adds(o.intent())[0]
	o.clock.advance(time.Second)
	o.puts(op.Ref, postpone)
	o.audited()
	for _, ref := range []string{op.Ref, message.Ref} {
		o.edits(ref, func(seen operation.Seen) operation.Edit {
			edit := touch(seen)
			edit.By, edit.Action, edit.Reason, edit.Detail = "ada", "resubmit", "the provider was down", "now"
			return edit
		})
	}
	o.edits(message.Ref, func(operation.Seen) operation.Edit {
		return operation.Edit{By: "ada", Action: "look", Reason: "curious"}
	})
	at := epoch.Add(time.Second)
	o.audited(
		Audit{At: at, By: "ada", Action: "resubmit", Ref: op.Action, Reason: "the provider was down", Detail: "now"},
		Audit{At: at, By: "ada", Action: "resubmit", Ref: message.Ref, Reason: "the provider was down", Detail: "now"},
		Audit{At: at, By: "ada", Action: "look", Ref: message.Ref, Reason: "curious"},
	)
}

// operationChangeKeepsRefs: an edit is of what was seen.
func operationChangeKeepsRefs[T any](o *operations[T]) {
	_, op := o.waiting("k")
	_, other := o.waiting("other")
	message := o.adds(o.intent())[0]
	rec, err := o.Store.Find(o.ctx, other.Action)
	if err != nil {
		o.t.Fatal(err)
	}
	for ref, edit := range map[string]operation.Edit{op.Ref: {Put: &other}, other.Ref: {Put: &operation.Operation{}}, message.Ref: {Record: &rec}} {
		err := o.changes(ref, func(ctx context.Context, tx T, _ operation.Seen) (operation.Edit, error) {
			o.business(ctx, tx, "written with it")
			return edit, nil
		})
		if err == nil {
			o.t.Errorf("an edit of something else: no error")
		}
	}
	if err := o.changes(op.Ref, func(context.Context, T, operation.Seen) (operation.Edit, error) {
		return operation.Edit{Record: &rec}, nil
	}); err == nil {
		o.t.Error("an edit of another record: no error")
	}
	for _, want := range []operation.Operation{op, other, message} {
		o.same("untouched", o.stored(want.Ref), want)
	}
	o.effects(2)
}
