package storetest

import (
	"errors"
	"fmt"
	"sync"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

// rekeyUnderLoad: two processes execute and repeat while a third one moves the
// identities. No effect is doubled, every receipt that was told replays under its
// new identity, and none is left behind under an old one.
func rekeyUnderLoad[T any](k *keeper[T]) {
	const callers, before = 3, 8
	processes := []*Harness[T]{k.connect(), k.connect()}
	k.fresh(k.call("first", "one"))
	warm, moved := make(chan struct{}, len(processes)*callers), make(chan struct{})
	var mu sync.Mutex
	told := map[string]refrain.Outcome{} // by key
	var done sync.WaitGroup
	for p, h := range processes {
		for n := range callers {
			done.Go(func() {
				next := func(call refrain.Call) refrain.Call { return call } // until the store refuses it
				over := false
				for i, after := 0, 0; after < before; i++ {
					// Every second key is everybody's, so that duplicates race, too.
					key := fmt.Sprintf("%d-%d-%d", p, n, i)
					if i%2 == 0 {
						key = fmt.Sprint("shared-", i)
					}
					out, err := k.stubborn(h, func() refrain.Call { return next(k.call(key, "one")) })
					if errors.Is(err, refrain.ErrContractChanged) {
						next = european // as its process would after a deploy
						out, err = k.stubborn(h, func() refrain.Call { return next(k.call(key, "one")) })
					}
					if err != nil {
						k.t.Errorf("%s: %s", key, describe(err))
						return
					}
					mu.Lock()
					if first, known := told[key]; known && first.Ref != out.Ref {
						k.t.Errorf("%s has receipts %s and %s", key, first.Ref, out.Ref)
					}
					told[key] = out
					mu.Unlock()
					if i == before {
						warm <- struct{}{}
					}
					if !over {
						select {
						case <-moved:
							over = true
						default:
						}
					}
					if over {
						after++
					}
				}
			})
		}
	}
	for range len(processes) * callers {
		await(k.t, warm, "the callers")
	}
	result := k.moveUnderLoad()
	close(moved)
	done.Wait()
	if result.Records < callers*before {
		k.t.Errorf("moved %+v", result)
	}
	for key, original := range told {
		out, err := k.do(european(k.call(key, "one")))
		if err != nil || !out.Replayed || out.Ref != original.Ref {
			k.t.Errorf("%s replays as %+v, %s; it was %s", key, out, describe(err), original.Ref)
		}
	}
	left, err := k.Store.List(k.ctx, record.Record{Identity: record.Identity{Scope: refrain.Tenant("north").String()}}, 1000)
	if err != nil || len(left) != 0 {
		k.t.Errorf("%d records are left under old identities, %v", len(left), err)
	}
	k.effects(1 + len(told))
}

// stubborn repeats a call as a client would: what is retryable and not about its
// contract.
func (k *keeper[T]) stubborn(h *Harness[T], call func() refrain.Call) (out refrain.Outcome, err error) {
	for range 20 {
		c := call()
		out, err = k.execute(h, c, k.effect(c))
		var refusal *refrain.Error
		if !errors.As(err, &refusal) || !refusal.Retryable() || errors.Is(err, refrain.ErrContractChanged) {
			break
		}
	}
	return out, err
}

// moveUnderLoad is a rekey that may find the store too busy, as an operator does.
func (k *keeper[T]) moveUnderLoad() upkeep.Rekeyed {
	var err error
	for range 20 {
		var done upkeep.Rekeyed
		if done, err = k.Keeper.Rekey(k.ctx, k.toEurope()); err == nil {
			return done
		}
		k.t.Logf("Rekey: %v", err)
	}
	k.t.Errorf("Rekey: %v", err)
	return upkeep.Rekeyed{}
}
