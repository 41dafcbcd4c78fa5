package storetest

import (
	"strings"
	"testing"
)

// Run proves that an engine keeps the contract. open makes an empty store and
// closes it in t.Cleanup; it is called once per property. Run leaves no
// goroutine behind and fails if the engine does, so it does not share its time
// with parallel tests that use the engine too.
func Run[T any](t *testing.T, open func(t *testing.T, env Env) *Harness[T], features Features) {
	t.Helper()
	before := goroutines()
	for _, p := range properties[T]() {
		t.Run(p.name, func(t *testing.T) {
			if p.excused != nil && p.excused(features) {
				t.Skip("the engine declares that it cannot do this")
			}
			p.check(newFixture(t, open, features))
		})
	}
	if leaked := before.leaked(); len(leaked) > 0 {
		t.Errorf("%d goroutines left behind:\n\n%s", len(leaked), strings.Join(leaked, "\n\n"))
	}
}

// property is one thing every engine promises.
type property[T any] struct {
	name    string
	check   func(*fixture[T])
	excused func(Features) bool
}

func properties[T any]() []property[T] {
	noStanding := func(f Features) bool { return f.NoStanding }
	noExecuteIn := func(f Features) bool { return f.NoExecuteIn }
	return append([]property[T]{
		{"Seeds", seeds[T], nil},
		{"HerdSharesOneEffect", herdSharesOneEffect[T], nil},
		{"HerdSurvivesItsLeader", herdSurvivesItsLeader[T], nil},
		{"HerdAcrossConnections", herdAcrossConnections[T], nil},
		{"ConflictInProgress", conflictInProgress[T], nil},
		{"ConflictAfter", conflictAfter[T], nil},
		{"ConflictRacingTheFirst", conflictRacingTheFirst[T], nil},
		{"ConflictAfterFailure", conflictAfterFailure[T], nil},
		{"ReplayEndsAtItsDeadline", replayEndsAtItsDeadline[T], nil},
		{"UntimedKeyRunsAgainPastMemory", untimedKeyRunsAgainPastMemory[T], nil},
		{"TimedKeyIsRefusedPastMemory", timedKeyIsRefusedPastMemory[T], nil},
		{"DeadlinesAreStored", deadlinesAreStored[T], nil},
		{"ZonesDoNotMatter", zonesDoNotMatter[T], nil},
		{"HorizonAfterForget", horizonAfterForget[T], nil},
		{"HorizonOnlyRises", horizonOnlyRises[T], nil},
		{"HorizonFollowsTheContract", horizonFollowsTheContract[T], nil},
		{"ForgetIsBounded", forgetIsBounded[T], nil},
		{"ForgetSparesUnfinished", forgetSparesUnfinished[T], nil},
		{"ForgetParkedBeforeCommit", forgetParkedBeforeCommit[T], func(f Features) bool { return f.NoForgetting }},
		{"FenceTimed", fenceTimed[T], noStanding},
		{"FenceUntimed", fenceUntimed[T], noStanding},
		{"FenceCovers", fenceCovers[T], noStanding},
		{"AllowIsSpentOnce", allowIsSpentOnce[T], noStanding},
		{"AllowSurvivesRollback", allowSurvivesRollback[T], noStanding},
		{"ReviewsCountPerIdentity", reviewsCountPerIdentity[T], noStanding},
		{"KeyFromFuture", keyFromFuture[T], nil},
		{"KeyLength", keyLength[T], nil},
		{"KeyBytes", keyBytes[T], nil},
		{"KeyHostile", keyHostile[T], nil},
		{"ScopesStayApart", scopesStayApart[T], nil},
		{"OperationsStayApart", operationsStayApart[T], nil},
		{"RejectionIsRecorded", rejectionIsRecorded[T], nil},
		{"RejectionDoesNotFlip", rejectionDoesNotFlip[T], nil},
		{"EffectError", effectError[T], nil},
		{"EffectPanic", effectPanic[T], nil},
		{"EffectGoexit", effectGoexit[T], nil},
		{"EffectCancelled", effectCancelled[T], nil},
		{"EffectNested", effectNested[T], nil},
		{"EffectTxEndsWithIt", effectTxEndsWithIt[T], nil},
		{"EffectSwallowsAnError", effectSwallowsAnError[T], func(f Features) bool { return f.NoPoison }},
		{"EffectKnowsItsRecord", effectKnowsItsRecord[T], nil},
		{"MaxExecutionRollsBack", maxExecutionRollsBack[T], nil},
		{"MaxExecutionStrikes", maxExecutionStrikes[T], nil},
		{"ResultSizeLimit", resultSizeLimit[T], nil},
		{"ResultKeepsDigest", resultKeepsDigest[T], nil},
		{"ResultLarge", resultLarge[T], nil},
		{"ResultIsExact", resultIsExact[T], nil},
		{"ResultIsACopy", resultIsACopy[T], nil},
		{"ResultTyped", resultTyped[T], nil},
		{"SwapCompares", swapCompares[T], nil},
		{"SwapRefusesAStaleOwner", swapRefusesAStaleOwner[T], nil},
		{"SwapRace", swapRace[T], nil},
		{"ChangeWritesOneEdit", changeWritesOneEdit[T], nil},
		{"ChangeErrorWritesNothing", changeErrorWritesNothing[T], nil},
		{"ChangeIsExclusive", changeIsExclusive[T], nil},
		{"ChangeVersions", changeVersions[T], nil},
		{"ChangeRegistersTheOperation", changeRegistersTheOperation[T], nil},
		{"ChangeSpendsAndGrantsAllows", changeSpendsAndGrantsAllows[T], noStanding},
		{"ChangeAudits", changeAudits[T], func(f Features) bool { return f.NoAudits }},
		{"ClaimIsVisibleAtOnce", claimIsVisibleAtOnce[T], nil},
		{"LeasePastIsUnknownToAnyReader", leasePastIsUnknownToAnyReader[T], nil},
		{"ReopenedFenceRises", reopenedFenceRises[T], nil},
		{"FenceAndEvidenceRoundTrip", fenceAndEvidenceRoundTrip[T], nil},
		{"ExecuteNeverReopens", executeNeverReopens[T], nil},
		{"ForgetSparesClaims", forgetSparesClaims[T], nil},
		{"UnfinishedStates", unfinishedStates[T], nil},
		{"FindByRef", findByRef[T], nil},
		{"ListFilters", listFilters[T], nil},
		{"UnreadableRecord", unreadableRecord[T], func(f Features) bool { return f.NoDamage }},
		{"NewerRecord", newerRecord[T], func(f Features) bool { return f.NoDamage }},
		{"ClosedStoreIsNoMiss", closedStoreIsNoMiss[T], nil},
		{"CancelledCallIsNoMiss", cancelledCallIsNoMiss[T], nil},
		{"LookupsDoNotWait", lookupsDoNotWait[T], nil},
		{"FailedCommit", failedCommit[T], func(f Features) bool { return f.NoCommit }},
		{"ExecuteInIsProvisional", executeInIsProvisional[T], noExecuteIn},
		{"ExecuteInRollsBackWithItsCaller", executeInRollsBackWithItsCaller[T], noExecuteIn},
		{"ExecuteInTakesBackAFailedEffect", executeInTakesBackAFailedEffect[T], noExecuteIn},
		{"ExecuteInDoesNotWait", executeInDoesNotWait[T], noExecuteIn},
		{"ExecuteInIsNotNested", executeInIsNotNested[T], noExecuteIn},
		{"IdentityVersionAtRegister", identityVersionAtRegister[T], nil},
		{"IdentityVersionAtFirstCall", identityVersionAtFirstCall[T], nil},
	}, retentionProperties[T]()...)
}
