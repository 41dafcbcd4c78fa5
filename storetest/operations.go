package storetest

import (
	"context"
	"strings"
	"testing"

	"github.com/refrain-dev/refrain/operation"
)

// OperationsHarness is the harness of an engine that keeps external operations.
// Begin and ExecuteIn are needed.
type OperationsHarness[T any] struct {
	*Harness[T]
	Operations operation.Store[T]

	// Beside returns the operations of another, independent connection to the
	// same data; it is closed in t.Cleanup. Optional: NoReopen.
	Beside func(t testing.TB) operation.Store[T]
	// Rows counts the operations that are kept. It reads past the engine.
	Rows func(ctx context.Context) (int, error)
	// DamageOperation breaks a stored operation behind the engine's back: Garbled
	// makes its text undecodable, Newer its format one that a later version
	// writes. Optional: NoDamage.
	DamageOperation func(ctx context.Context, ref string, how Damage) error
	// Unmigrated returns Operations and Begin of another database with nothing in
	// it. Optional: NoMigrations.
	Unmigrated func(t testing.TB) *OperationsHarness[T]
}

// RunOperations proves that an engine keeps external operations as
// [operation.Store] says, as [Run] proves the rest. open makes an empty,
// migrated store.
func RunOperations[T any](t *testing.T, open func(t *testing.T, env Env) *OperationsHarness[T], features Features) {
	t.Helper()
	before := goroutines()
	for _, p := range operationProperties[T]() {
		t.Run(p.name, func(t *testing.T) {
			if p.excused != nil && p.excused(features) {
				t.Skip("the engine declares that it cannot do this")
			}
			p.check(newOperations(t, open, features))
		})
	}
	if leaked := before.leaked(); len(leaked) > 0 {
		t.Errorf("%d goroutines left behind:\n\n%s", len(leaked), strings.Join(leaked, "\n\n"))
	}
}

type operationProperty[T any] struct {
	name    string
	check   func(*operations[T])
	excused func(Features) bool
}

func operationProperties[T any]() []operationProperty[T] {
	noDamage := func(f Features) bool { return f.NoDamage }
	oneWriter := func(f Features) bool { return f.OneWriter }
	return []operationProperty[T]{
		{"AddInAnEffect", addInAnEffect[T], nil},
		{"AddWithinBounds", addWithinBounds[T], nil},
		{"AddIsTakenBack", addIsTakenBack[T], nil},
		{"AddInARerunEffect", addInARerunEffect[T], func(f Features) bool { return f.NoCommit }},
		{"AddOncePerStep", addOncePerStep[T], nil},
		{"AddOncePerStepRacing", addOncePerStepRacing[T], oneWriter},
		{"AddInACallersTransaction", addInACallersTransaction[T], nil},
		{"AddUnderExecuteIn", addUnderExecuteIn[T], nil},
		{"AcceptedWithoutOperation", acceptedWithoutOperation[T], nil},
		{"OperationIsExact", operationIsExact[T], nil},
		{"OperationNamesAreBytes", operationNamesAreBytes[T], nil},
		{"OperationNotFound", operationNotFound[T], nil},
		{"OperationsOfAnAction", operationsOfAnAction[T], nil},
		{"OperationsList", operationsList[T], nil},
		{"OperationsDue", operationsDue[T], nil},
		{"TakeOnlyWhatIsDue", takeOnlyWhatIsDue[T], nil},
		{"TakeLongestDueFirst", takeLongestDueFirst[T], nil},
		{"TakeWritesWhatIsDecided", takeWritesWhatIsDecided[T], nil},
		{"TakeMirrorsTheRecord", takeMirrorsTheRecord[T], nil},
		{"TakeIsTakenBack", takeIsTakenBack[T], nil},
		{"TakersShareNothing", takersShareNothing[T], nil},
		{"TakersDoNotWait", takersDoNotWait[T], oneWriter},
		{"PartitionOrder", partitionOrder[T], nil},
		{"PartitionReleasesTheNext", partitionReleasesTheNext[T], nil},
		{"PartitionReleasesInOneTake", partitionReleasesInOneTake[T], nil},
		{"PartitionReleasesNoOther", partitionReleasesNoOther[T], nil},
		{"PartitionLateCommit", partitionLateCommit[T], oneWriter},
		{"PartitionHole", partitionHole[T], nil},
		{"OperationsBehindFences", operationsBehindFences[T], nil},
		{"OperationChangeIsOne", operationChangeIsOne[T], nil},
		{"OperationChangeIsTakenBack", operationChangeIsTakenBack[T], nil},
		{"OperationChangePoisoned", operationChangePoisoned[T], func(f Features) bool { return f.NoPoison }},
		{"OperationChangeIsExclusive", operationChangeIsExclusive[T], nil},
		{"OperationChangeAudits", operationChangeAudits[T], func(f Features) bool { return f.NoAudits }},
		{"OperationChangeKeepsRefs", operationChangeKeepsRefs[T], nil},
		{"OperationIsNotNested", operationIsNotNested[T], nil},
		{"SettledIsReplayed", settledIsReplayed[T], nil},
		{"SettledAcceptsTheNext", settledAcceptsTheNext[T], nil},
		{"DecidedMeanwhile", decidedMeanwhile[T], nil},
		{"ForgetOperations", forgetOperations[T], nil},
		{"ForgetOperationsOfTheForgotten", forgetOperationsOfTheForgotten[T], nil},
		{"AcceptedOutlivesAll", acceptedOutlivesAll[T], nil},
		{"ReapSparesWhatIsPointedAt", reapSparesWhatIsPointedAt[T], nil},
		{"UnreadableOperation", unreadableOperation[T], noDamage},
		{"UnreadableIsPutAside", unreadableIsPutAside[T], noDamage},
		{"UnreadableIsListed", unreadableIsListed[T], noDamage},
		{"NewerOperation", newerOperation[T], noDamage},
		{"NewerRecordOfAnOperation", newerRecordOfAnOperation[T], noDamage},
		{"CancelledOperations", cancelledOperations[T], nil},
		{"ClosedOperations", closedOperations[T], nil},
		{"UnmigratedOperations", unmigratedOperations[T], func(f Features) bool { return f.NoMigrations }},
	}
}
