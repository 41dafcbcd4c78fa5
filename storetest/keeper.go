package storetest

import (
	"context"
	"strings"
	"testing"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

// KeeperHarness is the harness of an engine that offers its operators upkeep: its
// Store is an [upkeep.Keeper].
type KeeperHarness[T any] struct {
	*Harness[T]
	// Empty makes another database with nothing in it and returns how to connect
	// to it. Its connections are closed in t.Cleanup.
	Empty func(t testing.TB) (connect func() upkeep.Keeper)
	// Outdate marks the store as migrated by a newer binary.
	Outdate func(ctx context.Context) error
}

// RunKeeper proves the upkeep of an engine, as [Run] proves the rest. open makes
// an empty, migrated store.
func RunKeeper[T any](t *testing.T, open func(t *testing.T, env Env) *KeeperHarness[T], features Features) {
	t.Helper()
	before := goroutines()
	for _, p := range keeperProperties[T]() {
		t.Run(p.name, func(t *testing.T) {
			if p.excused != nil && p.excused(features) {
				t.Skip("the engine declares that it cannot do this")
			}
			k := &keeper[T]{}
			k.fixture = newFixture(t, func(t *testing.T, env Env) *Harness[T] {
				h := open(t, env)
				k.Keeper, _ = h.Store.(upkeep.Keeper)
				k.Empty, k.Outdate = h.Empty, h.Outdate
				return h.Harness
			}, features)
			if k.Keeper == nil || k.Empty == nil || k.Outdate == nil {
				t.Fatal("the harness lacks Empty or Outdate, or its Store is no Keeper")
			}
			p.check(k)
		})
	}
	if leaked := before.leaked(); len(leaked) > 0 {
		t.Errorf("%d goroutines left behind:\n\n%s", len(leaked), strings.Join(leaked, "\n\n"))
	}
}

// keeper is one property's store with its upkeep.
type keeper[T any] struct {
	*fixture[T]
	Keeper  upkeep.Keeper
	Empty   func(t testing.TB) func() upkeep.Keeper
	Outdate func(ctx context.Context) error
}

type keeperProperty[T any] struct {
	name    string
	check   func(*keeper[T])
	excused func(Features) bool
}

func keeperProperties[T any]() []keeperProperty[T] {
	noStanding := func(f Features) bool { return f.NoStanding }
	return []keeperProperty[T]{
		{"MigrateTwice", migrateTwice[T], nil},
		{"MigrateConcurrently", migrateConcurrently[T], nil},
		{"MigrateNewerSchema", migrateNewerSchema[T], nil},
		{"NotMigrated", notMigrated[T], nil},
		{"DoctorReads", doctorReads[T], nil},
		{"RegisterListsContracts", registerListsContracts[T], nil},
		{"RegisterShorterMemory", registerShorterMemory[T], nil},
		{"RegisterSideBySide", registerSideBySide[T], nil},
		{"RegisterConcurrently", registerConcurrently[T], nil},
		{"HorizonIsTold", horizonIsTold[T], nil},
		{"HorizonOfAnotherReading", horizonOfAnotherReading[T], nil},
		{"RekeyDimensions", rekeyDimensions[T], nil},
		{"RekeyIdentity", rekeyIdentity[T], nil},
		{"RekeyOperation", rekeyOperation[T], nil},
		{"RekeyIntoKnownOperation", rekeyIntoKnownOperation[T], nil},
		{"RekeyCollision", rekeyCollision[T], nil},
		{"RekeyLiveAttempt", rekeyLiveAttempt[T], nil},
		{"RekeyRefuses", rekeyRefuses[T], nil},
		{"RekeyBehindHorizon", rekeyBehindHorizon[T], noStanding},
		{"RekeyMovesWhatStandsBeside", rekeyMovesWhatStandsBeside[T], noStanding},
		{"RekeyMergesReviews", rekeyMergesReviews[T], noStanding},
		{"RekeyEndsPlans", rekeyEndsPlans[T], nil},
		{"RekeyUnderLoad", rekeyUnderLoad[T], nil},
		{"ReviewAllow", reviewAllow[T], nil},
		{"ReviewDone", reviewDone[T], nil},
		{"ReviewIsSettledOnce", reviewIsSettledOnce[T], nil},
		{"ReviewRace", reviewRace[T], nil},
		{"ReviewEndsWithItsRecord", reviewEndsWithItsRecord[T], nil},
		{"FenceWithdrawsAllows", fenceWithdrawsAllows[T], nil},
		{"RebuildAnotherMemory", rebuildAnotherMemory[T], nil},
		{"RekeyOvertakesAllows", rekeyOvertakesAllows[T], nil},
		{"RekeyIntoAnotherReading", rekeyIntoAnotherReading[T], nil},
		{"RekeyCopiesFences", rekeyCopiesFences[T], nil},
		{"VerifyKnowsWhatStands", verifyKnowsWhatStands[T], nil},
		{"ReapSparesTheFuture", reapSparesTheFuture[T], nil},
		{"OldestFirst", oldestFirst[T], nil},
		{"StandingNow", standingNow[T], nil},
		{"AuditsOfARecord", auditsOfARecord[T], nil},
	}
}

// toEurope adds a region to the identities of the fixture's operation.
func (k *keeper[T]) toEurope() upkeep.Rekey {
	return upkeep.Rekey{Operation: k.contract.Operation, Add: [][2]string{{"region", "eu"}}, By: "ops", Reason: "second region"}
}

// european is a call under the contract and the scope that toEurope leaves.
func european(call refrain.Call) refrain.Call {
	call.Contract.Dimensions = []string{"tenant", "region"}
	call.Scope = call.Scope.With("region", "eu")
	return call
}

// renamed is a call of another operation.
func renamed(call refrain.Call, operation string) refrain.Call {
	call.Contract.Operation = operation
	return call
}

// rekey moves and demands what it tells.
func (k *keeper[T]) rekey(r upkeep.Rekey, want upkeep.Rekeyed) {
	k.t.Helper()
	done, err := k.Keeper.Rekey(k.ctx, r)
	if err != nil || done != want {
		k.t.Fatalf("Rekey: %+v, %v; want %+v", done, err, want)
	}
}

// changed demands that the contract of a call executes nothing any more, through
// any connection.
func (k *keeper[T]) changed(call refrain.Call) {
	k.t.Helper()
	before := k.runs.Load()
	for _, h := range []*Harness[T]{k.Harness, k.connect()} {
		out, err := k.execute(h, call, k.effect(call))
		if refusal := k.isRefusal(out, err, "9", record.ContractChanged); !refusal.Retryable() {
			k.t.Errorf("contract-changed tells %+v", refusal)
		}
	}
	if runs := k.runs.Load() - before; runs != 0 {
		k.t.Errorf("%d effects of a contract that changed began", runs)
	}
}
