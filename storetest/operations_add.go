package storetest

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"
)

// addInAnEffect: effect, operation and accepted record commit together, and a
// repeat is told that the action is under way.
func addInAnEffect[T any](o *operations[T]) {
	o.clock.advance(123456789 * time.Nanosecond)
	now := record.Micro(o.clock.Now())
	call, op := o.call("k", "one"), o.intent()
	op.State, op.Version, op.Due = record.Confirmed, 40, now.Add(time.Hour)
	ref := o.accept(call, op)
	stored := o.storedAt(o.beside(), op.Ref)
	if stored.State != record.Accepted || !stored.Created.Equal(now) || !stored.Due.Equal(now) || !stored.Final.IsZero() || stored.Seq == 0 {
		o.t.Errorf("added at %v: %+v", now, stored)
	}
	if stored.Action != ref || stored.Memory.RememberFor != o.contract.RememberFor {
		o.t.Errorf("added for %s: %+v", ref, stored)
	}
	o.repeatsAreInProgress(call, ref)
	o.rows(1)
	o.effects(1)
	o.receipts(1)
}

// addWithinBounds: what is longer is refused before anything is written.
func addWithinBounds[T any](o *operations[T]) {
	o.adds(o.intent(inPartition(strings.Repeat("p", operation.MaxPartition))))
	tx, end := o.begin()
	for what, change := range map[string]func(*operation.Operation){
		"no step":             func(op *operation.Operation) { op.Step = "" },
		"a step too long":     func(op *operation.Operation) { op.Step = strings.Repeat("s", operation.MaxName+1) },
		"no provider":         func(op *operation.Operation) { op.Provider = "" },
		"a provider too long": func(op *operation.Operation) { op.Provider = strings.Repeat("p", operation.MaxName+1) },
		"a partition too long": func(op *operation.Operation) {
			op.Partition = strings.Repeat("p", operation.MaxPartition+1)
		},
		"a key too long":    func(op *operation.Operation) { op.Key = strings.Repeat("k", operation.MaxKey+1) },
		"an input too long": func(op *operation.Operation) { op.Input = make([]byte, operation.MaxInput+1) },
	} {
		if err := o.store.Add(o.ctx, tx, o.intent(change)); err == nil || errors.Is(err, operation.ErrAccepted) {
			o.t.Errorf("Add with %s: %v", what, err)
		}
	}
	o.addsTo(tx, o.intent()) // the transaction stands
	end(true)
	o.rows(2)
}

// repeatsAreInProgress through every connection: rows 6, 6b and 4.
func (o *operations[T]) repeatsAreInProgress(call refrain.Call, ref string) {
	o.t.Helper()
	before := o.runs.Load()
	async, other := call, call
	async.Contract.Async, other.Input = true, []byte("other")
	for _, h := range []*Harness[T]{o.Harness, o.connect()} {
		out, err := o.execute(h, call, o.effect(call))
		if refusal := o.isRefusal(out, err, "6", record.InProgress); refusal.Ref != ref || refusal.State != record.Accepted {
			o.t.Errorf("a repeat is told of %s, %v", refusal.Ref, refusal.State)
		}
		out, err = o.execute(h, async, o.effect(call))
		if err != nil || !out.Replayed || out.Ref != ref || out.State != record.Accepted || len(out.Body) != 0 {
			o.t.Errorf("a repeat under Async: %+v, %s", out, describe(err))
		}
		out, err = o.execute(h, other, o.effect(call))
		o.isRefusal(out, err, "4", record.KeyReused)
	}
	if runs := o.runs.Load() - before; runs != 0 {
		o.t.Errorf("%d repeats ran their effect", runs)
	}
}

// addIsTakenBack with the effect that fails, panics or refuses.
func addIsTakenBack[T any](o *operations[T]) {
	failing := o.call("fails", "one")
	out, err := o.execute(o.Harness, failing, func(ctx context.Context, tx T) (refrain.Result, error) {
		_, err := o.accepting(failing, o.intent())(ctx, tx)
		return refrain.Result{}, errors.Join(errInjected, err)
	})
	if refusal := o.isRefusal(out, err, "", record.HandlerFailed); !refusal.Wrote {
		o.t.Error("an effect that only accepted is said to have written nothing")
	}
	o.receipts(0)
	func() {
		defer func() {
			if recover() == nil {
				o.t.Error("Execute swallowed a panic")
			}
		}()
		_, _ = o.Exec.Execute(o.ctx, o.call("panics", "one"), func(ctx context.Context, tx T) (refrain.Result, error) {
			_, _ = o.accepting(failing, o.intent())(ctx, tx)
			panic("boom")
		})
	}()
	refusing := o.call("refuses", "one")
	out, err = o.execute(o.Harness, refusing, func(ctx context.Context, tx T) (refrain.Result, error) {
		_, err := o.accepting(refusing, o.intent())(ctx, tx)
		return refrain.Result{Status: 409, Body: []byte("no"), Rejected: true}, err
	})
	if err != nil || out.State != record.Rejected || string(out.Body) != "no" {
		o.t.Errorf("a refusal after Accept: %+v, %s", out, describe(err))
	}
	o.replay(refusing, out)
	o.rows(0)
	o.effects(0)
	o.receipts(1)
	o.fresh(failing) // accepts nothing this time
	o.rows(0)
}

// addInARerunEffect: an effect whose COMMIT failed runs again, by the engine or
// by its caller, and its operation is there once.
func addInARerunEffect[T any](o *operations[T]) {
	call, op := o.call("k", "one"), o.intent()
	failed := false
	once := func() error {
		if failed {
			return nil
		}
		failed = true
		return errInjected
	}
	o.onCommit.Store(&once)
	out, err := o.Exec.Execute(o.ctx, call, o.accepting(call, op))
	if err != nil {
		o.rows(0)
		o.receipts(0)
		out, err = o.Exec.Execute(o.ctx, call, o.accepting(call, op))
	}
	o.onCommit.Store(nil)
	o.isAccepted(out, err)
	if !failed || o.runs.Load() < 2 {
		o.t.Errorf("the effect ran %d times", o.runs.Load())
	}
	o.rows(1)
	o.effects(1)
	if stored := o.stored(op.Ref); stored.Action != out.Ref {
		o.t.Errorf("the operation is of %s, the record is %s", stored.Action, out.Ref)
	}
}

// addOncePerStep: an action has one operation of each step; messages have no
// action.
func addOncePerStep[T any](o *operations[T]) {
	call := o.call("k", "one")
	out, err := o.Exec.Execute(o.ctx, call, o.accepting(call, o.intent(), o.intent()))
	if !errors.Is(err, operation.ErrAccepted) {
		o.t.Errorf("two operations of one step: %+v, %s", out, describe(err))
	}
	o.rows(0)
	o.receipts(0)

	mail := func(op *operation.Operation) { op.Step = "mail" }
	ref := o.accept(call, o.intent(), o.intent(mail))
	tx, end := o.begin()
	again := o.intent(func(op *operation.Operation) { op.Action = ref })
	if err := o.store.Add(o.ctx, tx, again); !errors.Is(err, operation.ErrAccepted) {
		o.t.Errorf("a step that is there already: %v", err)
	}
	end(false)
	o.accept(o.call("other", "one"), o.intent(), o.intent(mail))
	o.adds(o.intent(), o.intent())
	o.rows(6)

	taken := o.intent()
	o.adds(taken)
	tx, end = o.begin()
	if err := o.store.Add(o.ctx, tx, taken); err == nil || errors.Is(err, operation.ErrAccepted) {
		o.t.Errorf("a ref that is there already: %v", err)
	}
	end(false)
	o.rows(7)
}

// addOncePerStepRacing: of two transactions that accept the same step one waits
// for the other's end.
func addOncePerStepRacing[T any](o *operations[T]) {
	for _, commit := range []bool{true, false} {
		action := record.NewRef(o.clock.Now())
		of := func(op *operation.Operation) { op.Action = action }
		first, endFirst := o.begin()
		o.addsTo(first, o.intent(of))
		second, endSecond := o.begin()
		op := o.intent(of)
		added := background(func() error { return o.store.Add(o.ctx, second, op) })
		endFirst(commit)
		if err := await(o.t, added, "the second Add"); commit != errors.Is(err, operation.ErrAccepted) || !commit && err != nil {
			o.t.Errorf("the first committed = %t; the second: %v", commit, err)
		}
		endSecond(!commit)
		if ops, err := o.store.Of(o.ctx, action); err != nil || len(ops) != 1 {
			o.t.Errorf("%v, %v; want one", refs(ops), err)
		}
	}
}
