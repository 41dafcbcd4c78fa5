package storetest

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/refrain-dev/refrain"
)

// herdSize duplicates must not exhaust a pool of connections.
const herdSize = 64

// herd sends duplicates while the first effect is under way and lets it end as
// leader says once all the others are on their way.
func (f *fixture[T]) herd(through func(i int) *Harness[T], call refrain.Call, leader func(context.Context, T) (refrain.Result, error)) []answer {
	answers := make([]answer, herdSize)
	running, release := make(chan struct{}), f.gate()
	var first atomic.Bool
	effect := func(ctx context.Context, tx T) (refrain.Result, error) {
		if first.CompareAndSwap(false, true) {
			close(running)
			await(f.t, release.opened, "the herd")
			return leader(ctx, tx)
		}
		return f.effect(call)(ctx, tx)
	}
	var done, coming sync.WaitGroup
	done.Go(func() { answers[0].out, answers[0].err = f.execute(through(0), call, effect) })
	await(f.t, running, "the leader's effect")
	coming.Add(herdSize - 1)
	for i := 1; i < herdSize; i++ {
		done.Go(func() {
			coming.Done()
			answers[i].out, answers[i].err = f.execute(through(i), call, effect)
		})
	}
	coming.Wait()
	release.open()
	done.Wait()
	return answers
}

func herdSharesOneEffect[T any](f *fixture[T]) {
	call := f.call("herd", "one")
	answers := f.herd(func(int) *Harness[T] { return f.Harness }, call, f.effect(call))
	f.oneFresh(answers)
	f.effects(1)
	if runs := f.runs.Load(); runs != 1 {
		f.t.Errorf("the effect ran %d times, want once", runs)
	}
}

// herdSurvivesItsLeader: the leader's failure is the leader's alone; one of the
// others takes over.
func herdSurvivesItsLeader[T any](f *fixture[T]) {
	call := f.call("herd", "one")
	answers := f.herd(func(int) *Harness[T] { return f.Harness }, call, f.failsAfterWriting(call))
	if !errors.Is(answers[0].err, errInjected) {
		f.t.Errorf("the leader got %+v, want its effect's error", answers[0])
	}
	f.oneFresh(answers[1:])
	f.effects(1)
	if runs := f.runs.Load(); runs != 2 {
		f.t.Errorf("the effect ran %d times, want the failed one and one more", runs)
	}
}

func herdAcrossConnections[T any](f *fixture[T]) {
	through := [4]*Harness[T]{f.Harness, f.connect(), f.connect(), f.connect()}
	call := f.call("herd", "one")
	answers := f.herd(func(i int) *Harness[T] { return through[i%len(through)] }, call, f.effect(call))
	f.oneFresh(answers)
	f.effects(1)
}
