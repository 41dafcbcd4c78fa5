package storetest

import (
	"context"
	"errors"
	"sync"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

// park starts the call and returns once its effect has written its row and
// waits; end lets it go on. A property that fails lets it go on too.
func (f *fixture[T]) park(call refrain.Call) (end func() answer) {
	f.t.Helper()
	running, release := make(chan struct{}), f.gate()
	parked := background(func() (a answer) {
		a.out, a.err = f.execute(f.Harness, call, func(ctx context.Context, tx T) (refrain.Result, error) {
			result, err := f.effect(call)(ctx, tx)
			close(running)
			await(f.t, release.opened, "release")
			return result, err
		})
		return a
	})
	await(f.t, running, "the effect")
	return func() answer {
		release.open()
		return await(f.t, parked, "the parked call")
	}
}

// conflictInProgress: while nothing is committed, another request with the key
// is told just that, and neither runs nor sees a result.
func conflictInProgress[T any](f *fixture[T]) {
	first := f.call("k", "ten")
	end := f.park(first)
	for _, input := range []string{"ten", "twenty"} {
		impatient := f.call("k", input)
		impatient.Contract.Wait = -1
		refusal := f.refused(impatient, "6a", record.InProgress)
		if refusal.Record != nil || refusal.Ref != "" || refusal.RetryAfter <= 0 || !refusal.Retryable() {
			f.t.Errorf("in progress tells %+v", refusal)
		}
	}
	patient := background(func() (a answer) {
		a.out, a.err = f.do(f.call("k", "twenty"))
		return a
	})
	done := end()
	if done.err != nil {
		f.t.Fatal(done.err)
	}
	late := await(f.t, patient, "the waiting conflict")
	f.isRefusal(late.out, late.err, "4", record.KeyReused)
	f.effects(1)
	if runs := f.runs.Load(); runs != 1 {
		f.t.Errorf("%d effects began, want one", runs)
	}
}

func conflictAfter[T any](f *fixture[T]) {
	original := f.fresh(f.call("k", "ten"))
	for _, h := range []*Harness[T]{f.Harness, f.connect()} {
		call := f.call("k", "twenty")
		out, err := f.execute(h, call, f.effect(call))
		refusal := f.isRefusal(out, err, "4", record.KeyReused)
		if refusal.Retryable() || refusal.Ref != original.Ref || refusal.State != 0 || refusal.Effect != "" {
			f.t.Errorf("a conflict tells %+v", refusal)
		}
	}
	f.replay(f.call("k", "ten"), original)

	f.clock.set(original.ReplayUntil)
	f.refused(f.call("k", "twenty"), "4", record.KeyReused)
	f.refused(f.call("k", ""), "4", record.KeyReused)
	f.effects(1)
}

// conflictRacingTheFirst: whoever comes first decides which request the key is
// for; every other answer follows from that.
func conflictRacingTheFirst[T any](f *fixture[T]) {
	const n = 16
	answers := make([]answer, n)
	through := [2]*Harness[T]{f.Harness, f.connect()}
	inputs := [2]string{"ten", "twenty"}
	var gate, done sync.WaitGroup
	gate.Add(n)
	for i := range n {
		done.Go(func() {
			call := f.call("k", inputs[i%2])
			gate.Done()
			gate.Wait()
			answers[i].out, answers[i].err = f.execute(through[i/2%2], call, f.effect(call))
		})
	}
	done.Wait()
	winner := -1
	for i, a := range answers {
		if a.err == nil && !a.out.Replayed {
			if winner >= 0 {
				f.t.Fatalf("calls %d and %d both ran", winner, i)
			}
			winner = i
		}
	}
	if winner < 0 {
		f.t.Fatalf("nobody ran: %v", answers)
	}
	for i, a := range answers {
		switch {
		case i == winner:
		case i%2 == winner%2 && a.err == nil:
			f.sameReplay(a.out, answers[winner].out)
		case i%2 == winner%2 || !errors.Is(a.err, record.KeyReused):
			f.t.Errorf("call %d with input %s got %+v, %s; the winner had %s", i, inputs[i%2], a.out, describe(a.err), inputs[winner%2])
		}
	}
	f.effects(1)
}

// conflictAfterFailure: a key whose only run was rolled back belongs to nobody.
func conflictAfterFailure[T any](f *fixture[T]) {
	ten, twenty := f.call("k", "ten"), f.call("k", "twenty")
	if _, err := f.execute(f.Harness, ten, f.failsAfterWriting(ten)); !errors.Is(err, errInjected) {
		f.t.Fatal(err)
	}
	original := f.fresh(twenty)
	f.refused(ten, "4", record.KeyReused)
	f.replay(twenty, original)
	f.effects(1)
}
