package storetest

import (
	"context"
	"reflect"
	"strconv"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"
)

// operations is one property's store with its external operations.
type operations[T any] struct {
	*fixture[T]
	kept  *OperationsHarness[T]
	store operation.Store[T]
	n     int // intents made
}

func newOperations[T any](t *testing.T, open func(*testing.T, Env) *OperationsHarness[T], features Features) *operations[T] {
	o := &operations[T]{}
	o.fixture = newFixture(t, func(t *testing.T, env Env) *Harness[T] {
		o.kept = open(t, env)
		return o.kept.Harness
	}, features)
	o.store = o.kept.Operations
	o.contract.Wait = -1 // repeats are answered at once
	h := o.kept
	if h.Operations == nil || h.Rows == nil || h.Begin == nil || h.ExecuteIn == nil ||
		h.Beside == nil && !features.NoReopen || h.DamageOperation == nil && !features.NoDamage ||
		h.Unmigrated == nil && !features.NoMigrations {
		t.Fatal("the harness lacks a field and Features does not excuse it")
	}
	return o
}

// beside is another connection to the same data, or the same one where the
// engine has no other.
func (o *operations[T]) beside() operation.Store[T] {
	if o.kept.Beside == nil {
		return o.store
	}
	return o.kept.Beside(o.t)
}

// provider performs the operations of the suite.
const provider = "pay"

// intent is an operation nobody waits for.
func (o *operations[T]) intent(change ...func(*operation.Operation)) operation.Operation {
	o.n++
	n := strconv.Itoa(o.n)
	op := operation.Operation{
		Ref: record.NewRef(o.clock.Now()), Step: "charge", Provider: provider, Key: "key-" + n, Input: []byte("input " + n),
	}
	for _, c := range change {
		c(&op)
	}
	return op
}

func inPartition(name string) func(*operation.Operation) {
	return func(op *operation.Operation) { op.Partition = name }
}

// adds writes operations in one transaction of the caller's and returns them as
// they are stored.
func (o *operations[T]) adds(ops ...operation.Operation) []operation.Operation {
	o.t.Helper()
	tx, end := o.begin()
	for _, op := range ops {
		o.addsTo(tx, op)
	}
	end(true)
	stored := make([]operation.Operation, len(ops))
	for i, op := range ops {
		stored[i] = o.stored(op.Ref)
	}
	return stored
}

func (o *operations[T]) addsTo(tx T, op operation.Operation) {
	o.t.Helper()
	if err := o.store.Add(o.ctx, tx, op); err != nil {
		o.t.Fatalf("Add: %v", err)
	}
}

// accepting is an effect that accepts op for the record it runs for.
func (o *operations[T]) accepting(call refrain.Call, ops ...operation.Operation) func(context.Context, T) (refrain.Result, error) {
	return func(ctx context.Context, tx T) (refrain.Result, error) {
		result, err := o.effect(call)(ctx, tx)
		if err != nil {
			return result, err
		}
		rec, policy, ok := record.Accept(ctx)
		if !ok {
			o.t.Error("an effect's context does not know its record")
		}
		for _, op := range ops {
			op.Action = rec.Ref
			op.Memory = operation.Memory{ReplayFor: policy.ReplayFor, RememberFor: policy.RememberFor, MaxResult: policy.MaxResult}
			if err := o.store.Add(ctx, tx, op); err != nil {
				return result, err
			}
		}
		return result, nil
	}
}

// accept executes an effect that accepts these operations, and returns the ref
// of the record that waits.
func (o *operations[T]) accept(call refrain.Call, ops ...operation.Operation) string {
	o.t.Helper()
	out, err := o.Exec.Execute(o.ctx, call, o.accepting(call, ops...))
	o.isAccepted(out, err)
	return out.Ref
}

func (o *operations[T]) isAccepted(out refrain.Outcome, err error) {
	o.t.Helper()
	if err != nil || out.Replayed || out.State != record.Accepted || len(out.Body) != 0 || !out.ReplayUntil.IsZero() || !out.RememberUntil.IsZero() {
		o.t.Fatalf("Execute = %+v, %s; want a fresh, accepted outcome without result and deadlines", out, describe(err))
	}
	o.leftOpen(out.Ref)
}

// leftOpen excuses a record that the property leaves without a final state.
func (o *operations[T]) leftOpen(ref string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.placed[ref] = true
}

// waiting accepts one operation under key and returns it with its call.
func (o *operations[T]) waiting(key string) (refrain.Call, operation.Operation) {
	o.t.Helper()
	call, op := o.call(key, "one"), o.intent()
	o.accept(call, op)
	return call, o.stored(op.Ref)
}

// business writes a row of the caller's own, no effect of ours.
func (o *operations[T]) business(ctx context.Context, tx T, id string) {
	o.t.Helper()
	o.mu.Lock()
	o.ended[id] = 1
	o.mu.Unlock()
	if err := o.Write(ctx, tx, id); err != nil {
		o.t.Errorf("Write: %v", err)
	}
}

// stored is the operation as every connection reads it.
func (o *operations[T]) stored(ref string) operation.Operation {
	o.t.Helper()
	return o.storedAt(o.store, ref)
}

func (o *operations[T]) storedAt(store operation.Store[T], ref string) operation.Operation {
	o.t.Helper()
	op, now, err := store.Load(o.ctx, ref)
	if err != nil || !o.isNow(now) {
		o.t.Fatalf("Load at %v: %v", now, err)
	}
	return op
}

// isNow reports the store's time, as precise as it is stored.
func (o *operations[T]) isNow(now time.Time) bool {
	return record.Micro(now).Equal(record.Micro(o.clock.Now()))
}

// rows demands how many operations are kept.
func (o *operations[T]) rows(want int) {
	o.t.Helper()
	if got, err := o.kept.Rows(o.ctx); err != nil || got != want {
		o.t.Errorf("%d operations are kept, %v; want %d", got, err, want)
	}
}

// edits changes an operation and demands that it is written.
func (o *operations[T]) edits(ref string, change func(seen operation.Seen) operation.Edit) operation.Operation {
	o.t.Helper()
	err := o.store.Change(o.ctx, ref, func(_ context.Context, _ T, seen operation.Seen) (operation.Edit, error) {
		return change(seen), nil
	})
	if err != nil {
		o.t.Fatalf("Change: %v", err)
	}
	return o.stored(ref)
}

// puts changes one operation alone.
func (o *operations[T]) puts(ref string, change func(*operation.Operation)) operation.Operation {
	o.t.Helper()
	return o.edits(ref, func(seen operation.Seen) operation.Edit {
		change(&seen.Operation)
		return operation.Edit{Put: &seen.Operation}
	})
}

// takes offers what is due and demands that these are written, in this order.
func (o *operations[T]) takes(limit int, decide func(operation.Seen) operation.Edit, want ...string) []operation.Operation {
	o.t.Helper()
	ops, now, err := o.store.Take(o.ctx, provider, limit, decide)
	if err != nil || !o.isNow(now) {
		o.t.Fatalf("Take at %v: %v", now, err)
	}
	if got := refs(ops); !reflect.DeepEqual(got, refsOrNone(want)) {
		o.t.Errorf("took %v, want %v", got, want)
	}
	return ops
}

// offered is what Take offers; nothing is written.
func (o *operations[T]) offered() map[string]operation.Seen {
	o.t.Helper()
	seen := map[string]operation.Seen{}
	o.takes(1000, func(s operation.Seen) operation.Edit {
		seen[s.Operation.Ref] = s
		return operation.Edit{}
	})
	return seen
}

func refs(ops []operation.Operation) []string {
	var all []string
	for _, op := range ops {
		all = append(all, op.Ref)
	}
	return all
}

func refsOrNone(all []string) []string {
	if len(all) == 0 {
		return nil
	}
	return all
}

// same demands two operations that agree in every field.
func (o *operations[T]) same(what string, got, want operation.Operation) {
	o.t.Helper()
	for _, op := range []*operation.Operation{&got, &want} {
		if len(op.Input) == 0 {
			op.Input = nil
		}
	}
	g, w := reflect.ValueOf(got), reflect.ValueOf(want)
	for i := range g.NumField() {
		if a, b := g.Field(i).Interface(), w.Field(i).Interface(); !reflect.DeepEqual(a, b) {
			o.t.Errorf("%s: %s is %.300v, want %.300v", what, g.Type().Field(i).Name, a, b)
		}
	}
}
