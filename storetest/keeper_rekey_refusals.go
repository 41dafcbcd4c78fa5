package storetest

import (
	"errors"
	"slices"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

// refusedRekey demands the refusal of a rekey with its refs.
func (k *keeper[T]) refusedRekey(r upkeep.Rekey) *upkeep.RekeyError {
	k.t.Helper()
	done, err := k.Keeper.Rekey(k.ctx, r)
	var refused *upkeep.RekeyError
	if !errors.As(err, &refused) || done != (upkeep.Rekeyed{}) {
		k.t.Fatalf("Rekey = %+v, %v; want a RekeyError", done, err)
	}
	return refused
}

// rekeyCollision: two records never become one, neither two that are moved nor
// one that meets a record of the new operation.
func rekeyCollision[T any](k *keeper[T]) {
	mine, yours, alone := k.call("k", "one"), k.call("k", "one"), k.call("alone", "one")
	mine.Scope, yours.Scope = refrain.Tenant("north").Subject("me"), refrain.Tenant("north").Subject("you")
	alone.Scope = mine.Scope
	a, b, c := k.fresh(mine), k.fresh(yours), k.fresh(alone)
	refused := k.refusedRekey(upkeep.Rekey{Operation: "orders.create", Drop: []string{"subject"}, By: "ops", Reason: "keys of a tenant"})
	if len(refused.Live) != 0 || len(refused.Collisions) != 1 || !slices.Contains(refused.Collisions, [2]string{a.Ref, b.Ref}) &&
		!slices.Contains(refused.Collisions, [2]string{b.Ref, a.Ref}) {
		k.t.Errorf("refused with %+v, want %s and %s", refused, a.Ref, b.Ref)
	}
	k.replay(mine, a)
	k.replay(yours, b)
	k.replay(alone, c)

	other := k.fresh(renamed(k.call("same", "one"), "orders.place"))
	ours := k.fresh(renamed(k.call("same", "one"), "orders.here"))
	k.fresh(renamed(k.call("another", "one"), "orders.here"))
	refused = k.refusedRekey(upkeep.Rekey{Operation: "orders.here", To: "orders.place", By: "ops", Reason: "renamed"})
	if len(refused.Live) != 0 || len(refused.Collisions) != 1 || !slices.Contains(refused.Collisions, [2]string{other.Ref, ours.Ref}) &&
		!slices.Contains(refused.Collisions, [2]string{ours.Ref, other.Ref}) {
		k.t.Errorf("refused with %+v, want %s and %s", refused, other.Ref, ours.Ref)
	}
	k.replay(renamed(k.call("same", "one"), "orders.place"), other)
	k.replay(renamed(k.call("same", "one"), "orders.here"), ours)
	k.contracts("orders.create", "orders.here", "orders.place")
	if lines, err := k.Keeper.Audits(k.ctx, ""); err != nil || len(lines) != 0 {
		k.t.Errorf("refusals left %+v, %v", lines, err)
	}
	k.effects(6)
}

// rekeyLiveAttempt: the owner of a live attempt would not find its record again.
func rekeyLiveAttempt[T any](k *keeper[T]) {
	own := k.claim(k.Harness, k.call("k", "one"))
	done := k.fresh(k.call("done", "one"))
	if refused := k.refusedRekey(k.toEurope()); !slices.Equal(refused.Live, []string{own.Ref}) || len(refused.Collisions) != 0 {
		k.t.Errorf("refused with %+v, want %s as live", refused, own.Ref)
	}
	k.replay(k.call("done", "one"), done)
	k.clock.set(own.Lease) // past at the instant itself
	k.rekey(k.toEurope(), upkeep.Rekeyed{Operation: "orders.create", Identity: "tenant,region", Records: 2})
	lost := european(k.call("k", "one"))
	lost.Contract.Wait = -1
	k.refused(lost, "7", record.OutcomeUnknown)
	k.effects(1)
}

// rekeyRefuses: what makes no contract is told, and changes nothing.
func rekeyRefuses[T any](k *keeper[T]) {
	mixed := k.call("subject", "one")
	mixed.Scope = mixed.Scope.Subject("me")
	plain, subject := k.fresh(k.call("k", "one")), k.fresh(mixed)
	region := [][2]string{{"region", "eu"}}
	for name, r := range map[string]upkeep.Rekey{
		"nothing":             {Operation: "orders.create"},
		"mixed scopes":        {Operation: "orders.create", Add: region},
		"no tenant":           {Operation: "orders.create", Drop: []string{"tenant", "subject"}, Add: region},
		"a dimension twice":   {Operation: "orders.create", Add: [][2]string{{"tenant", "south"}}},
		"an empty value":      {Operation: "orders.create", Drop: []string{"subject"}, Add: [][2]string{{"region", ""}}},
		"a name with a comma": {Operation: "orders.create", Drop: []string{"subject"}, Add: [][2]string{{"a,b", "eu"}}},
		"a bad operation":     {Operation: "orders.create", To: "orders create"},
		"an identity unlike":  {Operation: "orders.create", Identity: "tenant"},
	} {
		r.By, r.Reason = "ops", "a test"
		if done, err := k.Keeper.Rekey(k.ctx, r); !errors.Is(err, upkeep.ErrRekey) || done != (upkeep.Rekeyed{}) {
			k.t.Errorf("%s: %+v, %v; want ErrRekey", name, done, err)
		}
	}
	unheard := upkeep.Rekey{Operation: "orders.none", To: "orders.place", By: "ops", Reason: "a test"}
	if _, err := k.Keeper.Rekey(k.ctx, unheard); !errors.Is(err, record.ErrNotFound) {
		k.t.Errorf("an operation nobody knows: %v, want ErrNotFound", err)
	}
	for _, r := range []upkeep.Rekey{{By: "ops"}, {Reason: "a test"}} {
		r.Operation, r.To = "orders.create", "orders.place"
		if _, err := k.Keeper.Rekey(k.ctx, r); !errors.Is(err, upkeep.ErrRekey) {
			k.t.Errorf("without a name or a reason: %v", err)
		}
	}
	k.replay(k.call("k", "one"), plain)
	k.replay(mixed, subject)
	k.contracts("orders.create")
	k.effects(2)
}
