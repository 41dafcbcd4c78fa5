package storetest

import (
	"errors"
	"strings"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

// rekeyDimensions: the receipt is found under its new identity, with the
// deadlines it had, and nothing under the old one.
func rekeyDimensions[T any](k *keeper[T]) {
	original := k.fresh(k.call("k", "one"))
	k.rekey(k.toEurope(), upkeep.Rekeyed{Operation: "orders.create", Identity: "tenant,region", Records: 1})
	k.replay(european(k.call("k", "one")), original)
	k.changed(k.call("k", "one"))
	k.changed(k.call("new", "one"))
	err := k.Keeper.Register(k.ctx, k.contract)
	if !errors.Is(err, refrain.ErrContractChanged) || !strings.Contains(err.Error(), "refrain contract rekey") {
		k.t.Errorf("the old contract registers with %v", err)
	}
	if err := k.Keeper.Register(k.ctx, european(k.call("", "")).Contract); err != nil {
		k.t.Errorf("the new contract registers with %v", err)
	}
	k.fresh(european(k.call("new", "one")))
	k.effects(2)
	lines, err := k.Keeper.Audits(k.ctx, "")
	if err != nil || len(lines) != 1 || lines[0].Action != "rekey" || lines[0].By != "ops" || lines[0].Reason != "second region" ||
		!lines[0].At.Equal(k.clock.Now()) || !strings.Contains(lines[0].Detail, "tenant,region") {
		k.t.Errorf("audit %+v, %v", lines, err)
	}
}

// rekeyIdentity: the identity that is wanted orders the dimensions and may be
// the default, from which the rekey goes back.
func rekeyIdentity[T any](k *keeper[T]) {
	call := k.call("k", "one")
	call.Scope = call.Scope.Subject("me & you")
	original := k.fresh(call)
	wanted := k.toEurope()
	wanted.Identity = "tenant,region,subject"
	k.rekey(wanted, upkeep.Rekeyed{Operation: "orders.create", Identity: "tenant,region,subject", Records: 1})
	next := k.call("k", "one")
	next.Contract.Dimensions = []string{"tenant", "region", "subject"}
	next.Scope = next.Scope.With("region", "eu").Subject("me & you")
	k.replay(next, original)
	back := upkeep.Rekey{Operation: "orders.create", Drop: []string{"region"}, Identity: refrain.Contract{}.IdentityVersion(), By: "ops", Reason: "back"}
	k.rekey(back, upkeep.Rekeyed{Operation: "orders.create", Identity: back.Identity, Records: 1})
	k.replay(call, original)
	k.effects(1)
}

// rekeyOperation: the old id is refused from then on, and the records can be
// moved back.
func rekeyOperation[T any](k *keeper[T]) {
	original := k.fresh(k.call("k", "one"))
	move := upkeep.Rekey{Operation: "orders.create", To: "orders.place", By: "ops", Reason: "renamed"}
	identity := refrain.Contract{}.IdentityVersion()
	k.rekey(move, upkeep.Rekeyed{Operation: "orders.place", Identity: identity, Records: 1})
	k.replay(renamed(k.call("k", "one"), "orders.place"), original)
	k.changed(k.call("k", "one"))
	k.contracts("orders.place")
	if _, err := k.Keeper.Rekey(k.ctx, move); !errors.Is(err, record.ErrNotFound) {
		k.t.Errorf("moved again: %v, want ErrNotFound", err)
	}
	back := upkeep.Rekey{Operation: "orders.place", To: "orders.create", By: "ops", Reason: "a mistake"}
	k.rekey(back, upkeep.Rekeyed{Operation: "orders.create", Identity: identity, Records: 1})
	k.replay(k.call("k", "one"), original)
	k.changed(renamed(k.call("k", "one"), "orders.place"))
	k.contracts("orders.create")
	k.effects(1)
}

// rekeyIntoKnownOperation: the new operation may have begun. Its records and its
// contract stay, and the later horizon holds.
func rekeyIntoKnownOperation[T any](k *keeper[T]) {
	place := func(key string) refrain.Call {
		call := renamed(k.call(key, "one"), "orders.place")
		call.Contract.RememberFor = 48 * time.Hour
		return call
	}
	early, late := timed(epoch.Add(-time.Hour), 1), timed(epoch.Add(-time.Minute), 2)
	k.fresh(place(early))
	k.fresh(k.call(late, "one"))
	k.clock.advance(48 * time.Hour)
	k.forget(10, 2)
	k.forgets(place(early))
	k.forgets(k.call(late, "one"))
	old, young := k.fresh(k.call("old", "one")), k.fresh(place("young"))
	k.rekey(upkeep.Rekey{Operation: "orders.create", To: "orders.place", By: "ops", Reason: "merged"},
		upkeep.Rekeyed{Operation: "orders.place", Identity: refrain.Contract{}.IdentityVersion(), Records: 1})
	k.replay(place("old"), old)
	k.replay(place("young"), young)
	k.horizon("orders.place", epoch.Add(-time.Minute))
	k.horizon("orders.create", time.Time{})
	k.refused(place(timed(epoch.Add(-30*time.Minute), 3)), "2", record.TooLate)
	if c := k.contracts("orders.place")["orders.place"]; !strings.Contains(c, `"remember_for":"P2D"`) && !strings.Contains(c, `"remember_for":"PT48H"`) {
		k.t.Errorf("the contract of the operation that had begun: %s", c)
	}

	other := european(renamed(k.call("k", "one"), "orders.regional"))
	k.fresh(other)
	_, err := k.Keeper.Rekey(k.ctx, upkeep.Rekey{Operation: "orders.place", To: "orders.regional", By: "ops", Reason: "merged"})
	if !errors.Is(err, upkeep.ErrRekey) || !strings.Contains(err.Error(), `by "tenant,region"`) {
		k.t.Errorf("into another identity: %v", err)
	}
	k.replay(place("young"), young)
	k.effects(5)
}

// rekeyBehindHorizon: a timed key of a moved record is older than the horizon.
// Its old process must not take the retry for a late one, nor keep it for review
// under the old identity.
func rekeyBehindHorizon[T any](k *keeper[T]) {
	forgotten := k.call(timed(epoch.Add(-time.Second), 1), "one")
	k.fresh(forgotten)
	k.forgets(forgotten)
	k.clock.advance(time.Hour)
	call := k.call(timed(epoch.Add(-time.Minute), 2), "one")
	original := k.fresh(call)
	k.clock.set(epoch.Add(k.contract.RememberFor))
	k.forget(10, 1)
	k.rekey(k.toEurope(), upkeep.Rekeyed{Operation: "orders.create", Identity: "tenant,region", Records: 1})
	k.changed(call)
	if reviews, err := k.Reviews(k.ctx); err != nil || len(reviews) != 0 {
		k.t.Errorf("reviews %v, %v", reviews, err)
	}
	if k.horizon("orders.create", epoch.Add(-time.Second)); k.t.Failed() {
		return
	}
	out, err := k.do(european(call))
	if k.isRefusal(out, err, "5", record.ResultGone).Ref != original.Ref { // past its replay, not its memory
		k.t.Errorf("a retry under the new identity: %s", describe(err))
	}
	k.refused(european(k.call(timed(epoch.Add(-time.Minute), 3), "one")), "2", record.TooLate)
	k.effects(2)
}

// rekeyEndsPlans: who read a record before it was moved cannot write it after.
func rekeyEndsPlans[T any](k *keeper[T]) {
	own := k.claim(k.Harness, k.call("k", "one"))
	seen, err := k.Store.Find(k.ctx, own.Ref)
	if err != nil {
		k.t.Fatalf("Find: %v", err)
	}
	k.clock.set(own.Lease)
	k.rekey(k.toEurope(), upkeep.Rekeyed{Operation: "orders.create", Identity: "tenant,region", Records: 1})
	k.swap(seen, seen, record.ErrSwapped)
	moved, err := k.Store.Find(k.ctx, own.Ref)
	if err != nil || moved.Version <= seen.Version || moved.Identity != identity(european(k.call("k", "one"))) {
		k.t.Errorf("moved to %+v, %v from version %d", moved, err, seen.Version)
	}
	if k.load(k.connect(), k.call("k", "one")).Record != nil {
		k.t.Error("the old identity still has a record")
	}
	seen.Identity = moved.Identity
	k.swap(seen, seen, record.ErrSwapped)
	k.effects(0)
}
