package storetest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

// errInjected stands for anything that goes wrong inside an effect.
var errInjected = errors.New("injected failure")

// seeds is the founding story, told in one store from beginning to end: eight
// competing connections, scope, a failure between effect and receipt, a lost
// reply, and a memory of sixty seconds.
func seeds[T any](f *fixture[T]) {
	f.contract.ReplayFor, f.contract.RememberFor = time.Minute, time.Minute
	order := f.call("intent-a", `{"quantity":2}`)
	original := f.eightCompete(order)
	f.effects(1)
	f.receipts(1)

	f.clock.set(epoch.Add(time.Second))
	f.refused(f.call("intent-a", `{"quantity":3}`), "4", record.KeyReused)
	f.effects(1)

	south := f.call("intent-a", `{"quantity":2}`)
	south.Scope = refrain.Tenant("south")
	batch := f.call("intent-a", `{"quantity":2}`)
	batch.Contract.Operation = "orders.batch"
	for _, call := range []refrain.Call{south, batch, f.call("intent-b", `{"quantity":2}`)} {
		f.fresh(call)
	}
	f.effects(4)
	f.receipts(4)

	f.clock.set(epoch.Add(2 * time.Second))
	failing := f.call("rolled-back", `{"quantity":1}`)
	_, err := f.execute(f.Harness, failing, f.failsAfterWriting(failing))
	if !errors.Is(err, errInjected) {
		f.t.Fatalf("Execute: %v, want the effect's own error", err)
	}
	f.effects(4)
	f.receipts(4)
	f.fresh(failing)
	f.effects(5)
	f.receipts(5)

	f.clock.set(epoch.Add(3 * time.Second))
	unheard := f.call("committed-no-reply", `{"quantity":1}`)
	lost := f.fresh(unheard)
	out, err := f.execute(f.connect(), unheard, f.effect(unheard))
	if err != nil {
		f.t.Fatalf("a fresh connection: %v", err)
	}
	f.sameReplay(out, lost)
	f.effects(6)
	f.receipts(6)

	f.clock.set(epoch.Add(59 * time.Second))
	f.replay(order, original)
	f.clock.set(epoch.Add(60 * time.Second))
	f.forgets(order)
	if again := f.fresh(order); again.Ref == original.Ref || string(again.Body) == string(original.Body) {
		f.t.Errorf("the new action has ref %s and body %q of the old one", again.Ref, again.Body)
	}
	f.effects(7)
	f.receipts(6)
}

// eightCompete sends one call through eight connections at once: one effect,
// seven identical replays.
func (f *fixture[T]) eightCompete(call refrain.Call) refrain.Outcome {
	f.t.Helper()
	const n = 8
	answers := make([]answer, n)
	through := make([]*Harness[T], n)
	for i := range through {
		through[i] = f.connect()
	}
	var gate, done sync.WaitGroup
	gate.Add(n)
	for i := range n {
		done.Go(func() {
			gate.Done()
			gate.Wait()
			answers[i].out, answers[i].err = f.execute(through[i], call, f.effect(call))
		})
	}
	done.Wait()
	return f.oneFresh(answers)
}

// oneFresh demands that one of the answers is fresh and all others replay it.
func (f *fixture[T]) oneFresh(answers []answer) refrain.Outcome {
	f.t.Helper()
	var original refrain.Outcome
	fresh := 0
	for _, a := range answers {
		if a.err == nil && !a.out.Replayed {
			original = a.out
			fresh++
		}
	}
	if fresh != 1 {
		f.t.Fatalf("%d fresh outcomes, want one: %v", fresh, answers)
	}
	for _, a := range answers {
		switch {
		case a.err != nil:
			f.t.Errorf("a duplicate got %s", describe(a.err))
		case a.out.Replayed:
			f.sameReplay(a.out, original)
		}
	}
	return original
}

func (f *fixture[T]) failsAfterWriting(call refrain.Call) func(context.Context, T) (refrain.Result, error) {
	return func(ctx context.Context, tx T) (refrain.Result, error) {
		if err := f.Write(ctx, tx, f.row(ctx, call)); err != nil {
			return refrain.Result{}, err
		}
		return refrain.Result{}, errInjected
	}
}
