package storetest

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

// contracts demands the registered operations and returns their published forms.
func (k *keeper[T]) contracts(want ...string) map[string]string {
	k.t.Helper()
	all, err := k.Keeper.Contracts(k.ctx)
	if err != nil || len(all) != len(want) {
		k.t.Fatalf("Contracts = %v, %v; want those of %q", all, err, want)
	}
	for _, operation := range want {
		if !strings.Contains(all[operation], `"operation":"`+operation+`"`) {
			k.t.Errorf("the contract of %s: %s", operation, all[operation])
		}
	}
	return all
}

// registerListsContracts: what is registered, or learnt by a first call, is told
// in its published form, the newest of each operation; a refusal stores nothing.
func registerListsContracts[T any](k *keeper[T]) {
	k.contracts()
	batch := renamed(k.call("k", "one"), "orders.batch")
	if err := k.Keeper.Register(k.ctx, k.contract, batch.Contract); err != nil {
		k.t.Fatalf("Register: %v", err)
	}
	k.fresh(renamed(k.call("k", "one"), "orders.learnt"))
	k.contracts("orders.create", "orders.batch", "orders.learnt")
	longer := k.contract
	longer.RememberFor = 48 * time.Hour
	if err := k.Keeper.Register(k.ctx, longer); err != nil {
		k.t.Fatalf("Register with a longer memory: %v", err)
	}
	all := k.contracts("orders.create", "orders.batch", "orders.learnt")
	if !strings.Contains(all["orders.create"], `"remember_for":"P2D"`) && !strings.Contains(all["orders.create"], `"remember_for":"PT48H"`) {
		k.t.Errorf("after a longer memory: %s", all["orders.create"])
	}
	changed, fresh := batch.Contract, k.contract
	changed.Dimensions = []string{"tenant", "subject"}
	fresh.Operation = "orders.fresh"
	for range 2 { // in either order
		if err := k.Keeper.Register(k.ctx, fresh, changed); !errors.Is(err, refrain.ErrContractChanged) {
			k.t.Errorf("Register with other dimensions: %v, want ErrContractChanged", err)
		}
		fresh, changed = changed, fresh
	}
	invalid := k.contract
	invalid.Operation, invalid.Schema = "orders.invalid", ""
	if err := k.Keeper.Register(k.ctx, fresh, invalid); err == nil {
		k.t.Error("an invalid contract was registered")
	}
	k.contracts("orders.create", "orders.batch", "orders.learnt")
}

// registerShorterMemory: it needs somebody who agrees, and changes no record.
func registerShorterMemory[T any](k *keeper[T]) {
	original := k.fresh(k.call("k", "one")) // learns the contract
	shorter := k.contract
	shorter.RememberFor -= time.Hour
	fresh := k.contract
	fresh.Operation = "orders.fresh"
	if err := k.Keeper.Register(k.ctx, fresh, shorter); !errors.Is(err, refrain.ErrShorterMemory) {
		k.t.Errorf("Register with a shorter memory: %v, want ErrShorterMemory", err)
	}
	before := k.contracts("orders.create")["orders.create"]
	if err := k.Keeper.RegisterShorter(k.ctx, shorter); err != nil {
		k.t.Fatalf("RegisterShorter: %v", err)
	}
	if k.contracts("orders.create")["orders.create"] == before {
		k.t.Error("RegisterShorter stored nothing")
	}
	if err := k.Keeper.Register(k.ctx, shorter); err != nil {
		k.t.Errorf("after somebody agreed: %v", err)
	}
	call := k.call("k", "one")
	call.Contract = shorter
	k.replay(call, original) // with the deadlines it has
	shorter.Dimensions = []string{"tenant"}
	if err := k.Keeper.RegisterShorter(k.ctx, shorter); !errors.Is(err, refrain.ErrContractChanged) {
		k.t.Errorf("RegisterShorter with other dimensions: %v", err)
	}
}

// registerSideBySide: processes with compatible contracts work at one time, and
// one that was rolled back starts: it knows its older rule.
func registerSideBySide[T any](k *keeper[T]) {
	newer := k.connect()
	next := k.contract
	next.Schema, next.Wait, next.Rule = "2", time.Second, "raw/1"
	for range 2 { // a deploy, and its roll-back
		if err := k.Keeper.Register(k.ctx, k.contract); err != nil {
			k.t.Fatalf("Register: %v", err)
		}
		if err := newer.Register(k.ctx, next); err != nil {
			k.t.Fatalf("Register with another rule: %v", err)
		}
	}
	theirs := k.call("b", "one")
	theirs.Contract = next
	a := k.fresh(k.call("a", "one"))
	b, err := k.execute(newer, theirs, k.effect(theirs))
	if err != nil {
		k.t.Fatalf("Execute: %v", err)
	}
	theirs.Key = "a"
	out, err := k.execute(newer, theirs, k.effect(theirs))
	if err != nil {
		k.t.Fatalf("Execute: %v", err)
	}
	k.sameReplay(out, a)
	k.replay(k.call("b", "one"), b)
	k.effects(2)
}

// registerConcurrently: processes that start together register in any order.
func registerConcurrently[T any](k *keeper[T]) {
	some := renamed(k.call("", ""), "orders.batch").Contract
	other := renamed(k.call("", ""), "orders.place").Contract
	var done sync.WaitGroup
	for i := range 4 {
		through := k.connect()
		done.Go(func() {
			contracts := []refrain.Contract{k.contract, some, other}
			if i%2 == 1 {
				contracts = []refrain.Contract{other, some, k.contract}
			}
			if err := through.Register(k.ctx, contracts...); err != nil {
				k.t.Errorf("Register: %v", err)
			}
		})
	}
	done.Wait()
	k.contracts("orders.create", "orders.batch", "orders.place")
}

// horizonIsTold: zero before anything was forgotten, then the latest birth.
func horizonIsTold[T any](k *keeper[T]) {
	born := epoch.Add(-10 * time.Minute)
	for n, at := range []time.Time{born.Add(-time.Hour), born} {
		call := k.call(timed(at, n), "one")
		k.fresh(call)
		k.forgets(call)
	}
	k.horizon("orders.create", time.Time{})
	k.horizon("orders.unheard", time.Time{})
	k.clock.advance(24 * time.Hour)
	k.forget(10, 2)
	k.horizon("orders.create", born)
	k.horizon("orders.unheard", time.Time{})
}

// horizonOfAnotherReading: a contract that finds a time where the one before it
// found none refuses what was forgotten meanwhile; one that finds no more leaves
// the horizon alone.
func horizonOfAnotherReading[T any](k *keeper[T]) {
	steps := []struct {
		from, to refrain.KeyTime
		ulid     bool // the shape of the key
		raised   bool
	}{
		{refrain.KeyTimeNone, refrain.KeyTimeByShape, false, true},
		{refrain.KeyTimeNone, refrain.KeyTimeRequired, false, true},
		{refrain.KeyTimeByShape, refrain.KeyTimeULID, true, true},
		{refrain.KeyTimeNone, refrain.KeyTimeULID, true, true},
		{refrain.KeyTimeRequired, refrain.KeyTimeByShape, false, false},
		{refrain.KeyTimeULID, refrain.KeyTimeByShape, false, false},
		{refrain.KeyTimeByShape, refrain.KeyTimeRequired, false, false},
		{refrain.KeyTimeByShape, refrain.KeyTimeNone, false, false},
	}
	for n, step := range steps {
		born := k.clock.Now()
		key := timed(born, n)
		if step.ulid {
			key = ulid(born)
		}
		call := renamed(k.call(key, "one"), fmt.Sprint("orders.", n))
		call.Contract.KeyTime = step.from
		if err := k.Keeper.Register(k.ctx, call.Contract); err != nil {
			k.t.Fatalf("Register: %v", err)
		}
		k.fresh(call)
		k.forgets(call)
		k.clock.advance(25 * time.Hour)
		k.forget(10, 1)
		call.Contract.KeyTime = step.to
		if err := k.Keeper.Register(k.ctx, call.Contract); err != nil {
			k.t.Fatalf("Register with %v after %v: %v", step.to, step.from, err)
		}
		want := born
		if step.raised {
			want = k.clock.Now()
		}
		k.horizon(call.Contract.Operation, want)
		if step.to != refrain.KeyTimeNone {
			k.refused(call, "2", record.TooLate)
		}
	}
	k.effects(len(steps))
}

func (k *keeper[T]) horizon(operation string, want time.Time) {
	k.t.Helper()
	if at, err := k.Keeper.Horizon(k.ctx, operation); err != nil || !at.Equal(want) {
		k.t.Errorf("Horizon of %s = %v, %v; want %v", operation, at, err, want)
	}
}
