package storetest

import (
	"context"
	"sync"

	"github.com/refrain-dev/refrain/operation"
)

// takeIsTakenBack: what a decision that ends badly left is as it was, the record
// included.
func takeIsTakenBack[T any](o *operations[T]) {
	call, op := o.waiting("k")
	o.adds(o.intent())
	for name, end := range map[string]func(cancel func()){
		"panic":        func(func()) { panic("boom") },
		"cancellation": func(cancel func()) { cancel() },
	} {
		ctx, cancel := context.WithCancel(o.ctx)
		taken := func() (taken []operation.Operation) {
			defer func() {
				if value := recover(); value != nil && value != "boom" {
					panic(value)
				}
			}()
			taken, _, err := o.store.Take(ctx, provider, 10, func(seen operation.Seen) operation.Edit {
				if seen.Operation.Ref != op.Ref {
					end(cancel)
				}
				return opens(seen)
			})
			if err == nil {
				o.t.Errorf("%s: no error", name)
			}
			return taken
		}()
		cancel()
		if len(taken) != 0 {
			o.t.Errorf("%s: took %v", name, refs(taken))
		}
		o.same(name, o.stored(op.Ref), op)
		o.repeatsAreInProgress(call, op.Action)
	}
	if offered := o.offered(); len(offered) != 2 {
		o.t.Errorf("offered afterwards: %d, want 2", len(offered))
	}
}

// takersShareNothing: however many take at once, each operation is taken by one.
func takersShareNothing[T any](o *operations[T]) {
	const all, takers = 40, 4
	tx, end := o.begin()
	for range all {
		o.addsTo(tx, o.intent())
	}
	end(true)
	stores := [2]operation.Store[T]{o.store, o.beside()}
	var mu sync.Mutex
	taken := map[string]int{}
	start := make(chan struct{})
	var done sync.WaitGroup
	for i := range takers {
		done.Go(func() {
			<-start
			for {
				ops, _, err := stores[i%2].Take(o.ctx, provider, 3, opens)
				if err != nil {
					o.t.Errorf("Take: %v", err)
					return
				}
				mu.Lock()
				for _, op := range ops {
					taken[op.Ref]++
				}
				mu.Unlock()
				if len(ops) == 0 { // the rest is in the others' hands
					return
				}
			}
		})
	}
	close(start)
	done.Wait()
	if len(taken) != all {
		o.t.Errorf("%d were taken, want %d", len(taken), all)
	}
	for ref, n := range taken {
		if n != 1 {
			o.t.Errorf("%s was taken %d times", ref, n)
		}
		if op := o.stored(ref); len(op.Attempts) != 1 {
			o.t.Errorf("%s has %d attempts", ref, len(op.Attempts))
		}
	}
}

// takersDoNotWait: what one transaction holds another leaves out.
func takersDoNotWait[T any](o *operations[T]) {
	a, b := o.intent(), o.intent()
	o.adds(a, b)
	holding, gate := make(chan struct{}), o.gate()
	var once sync.Once
	first := background(func() []operation.Operation {
		ops, _, err := o.store.Take(o.ctx, provider, 1, func(seen operation.Seen) operation.Edit {
			once.Do(func() { close(holding) })
			<-gate.opened
			return opens(seen)
		})
		if err != nil {
			o.t.Errorf("Take: %v", err)
		}
		return ops
	})
	await(o.t, holding, "the first taker")
	second := background(func() []operation.Operation {
		ops, _, err := o.beside().Take(o.ctx, provider, 10, opens)
		if err != nil {
			o.t.Errorf("Take: %v", err)
		}
		return ops
	})
	if got := refs(await(o.t, second, "the second taker")); len(got) != 1 || got[0] != b.Ref {
		o.t.Errorf("while %s is held: took %v, want %s", a.Ref, got, b.Ref)
	}
	gate.open()
	if got := refs(await(o.t, first, "the first taker")); len(got) != 1 || got[0] != a.Ref {
		o.t.Errorf("took %v, want %s", got, a.Ref)
	}
}
