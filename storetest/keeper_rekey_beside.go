package storetest

import (
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

// reviews demands how often each identity kept for review was refused.
func (k *keeper[T]) reviews(want map[record.Identity]int) {
	k.t.Helper()
	got, err := k.Reviews(k.ctx)
	if err != nil || len(got) != len(want) {
		k.t.Errorf("reviews %v, %v; want %v", got, err, want)
	}
	for id, n := range want {
		if got[id] != n {
			k.t.Errorf("%v was refused %d times, want %d", id, got[id], n)
		}
	}
}

// rekeyMovesWhatStandsBeside: fences cover what they covered, an allow still
// permits, a review is of the new identity, and a fence for all operations stays.
func rekeyMovesWhatStandsBeside[T any](k *keeper[T]) {
	k.fresh(k.call("k", "one"))
	old := func(n int) refrain.Call { return k.call(timed(epoch.Add(-time.Minute), n), "one") }
	place := func(call refrain.Call) refrain.Call { return european(renamed(call, "orders.place")) }
	here := epoch.Add(time.Second)
	k.fence(Fence{Operation: "orders.create", Until: here})
	k.fence(Fence{Scope: refrain.Tenant("north").String(), Until: epoch.Add(2 * time.Second)})
	k.fence(Fence{Scope: refrain.Tenant("south").String(), Until: epoch.Add(3 * time.Second)})
	k.fence(Fence{Operation: "orders.other", Until: epoch.Add(4 * time.Second)})
	k.clock.advance(5 * time.Second)
	k.refused(old(1), "2", record.TooLate)
	k.refused(old(1), "2", record.TooLate)
	k.allow(old(2))

	r := k.toEurope()
	r.To = "orders.place"
	done, err := k.Keeper.Rekey(k.ctx, r)
	want := upkeep.Rekeyed{Operation: "orders.place", Identity: "tenant,region", Records: 1, Reviews: 1, Allows: 1, Fences: 3}
	if err != nil || done != want {
		k.t.Fatalf("Rekey: %+v, %v; want %+v", done, err, want)
	}
	k.reviews(map[record.Identity]int{identity(place(old(1))): 2})
	for _, tt := range []struct {
		name  string
		call  refrain.Call
		until time.Time
	}{
		{"north", place(old(3)), epoch.Add(2 * time.Second)},
		{"south", place(south(old(3))), epoch.Add(3 * time.Second)},
		{"another tenant", place(west(old(3))), here},
		{"another operation of north", renamed(old(3), "orders.batch"), epoch.Add(2 * time.Second)},
		{"what was moved", old(3), epoch.Add(2 * time.Second)},
		{"another fence's", renamed(west(old(3)), "orders.other"), epoch.Add(4 * time.Second)},
	} {
		if seen := k.load(k.Harness, tt.call); !seen.FenceUntil.Equal(tt.until) || !seen.FenceOpen || seen.Allowed {
			k.t.Errorf("%s: fenced until %v, want %v", tt.name, seen.FenceUntil, tt.until)
		}
	}
	k.refused(place(old(3)), "2", record.TooLate)
	k.fresh(place(old(2)))
	if k.load(k.Harness, place(old(2))).Allowed {
		k.t.Error("the allow was not spent")
	}
	k.effects(2)
}

func south(call refrain.Call) refrain.Call { call.Scope = refrain.Tenant("south"); return call }
func west(call refrain.Call) refrain.Call  { call.Scope = refrain.Tenant("west"); return call }

// rekeyMergesReviews: where two identities become one, their reviews are added
// up and one allow is left. No record stands in the way.
func rekeyMergesReviews[T any](k *keeper[T]) {
	late := func(subject string, n int) refrain.Call {
		call := k.call(timed(epoch.Add(-time.Minute), n), "one")
		call.Scope = refrain.Tenant("north").Subject(subject)
		return call
	}
	plain := func(n int) refrain.Call { return k.call(timed(epoch.Add(-time.Minute), n), "one") }
	k.fresh(k.call("k", "one"))
	k.fence(Fence{Until: epoch})
	k.clock.advance(time.Second)
	k.refused(late("me", 1), "2", record.TooLate)
	for range 2 {
		k.refused(late("you", 1), "2", record.TooLate)
	}
	k.refused(late("you", 2), "2", record.TooLate)
	k.allow(late("me", 3))
	k.allow(late("you", 3))
	k.rekey(upkeep.Rekey{Operation: "orders.create", Drop: []string{"subject"}, By: "ops", Reason: "keys of a tenant"},
		upkeep.Rekeyed{Operation: "orders.create", Identity: "tenant", Records: 1, Reviews: 3, Allows: 2})
	k.reviews(map[record.Identity]int{identity(plain(1)): 3, identity(plain(2)): 1})
	k.contract.Dimensions = []string{"tenant"}
	k.fresh(plain(3))
	again := k.call(timed(epoch.Add(-time.Minute), 3), "one")
	if k.load(k.Harness, again).Allowed {
		k.t.Error("two allows became two")
	}
	k.effects(2)
}
