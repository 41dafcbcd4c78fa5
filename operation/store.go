package operation

import (
	"context"
	"time"

	"github.com/refrain-dev/refrain/record"
)

// Store is what an engine keeps of external operations, beside its records and
// in the same database. T is the engine's transaction. Errors other than those
// named are the store's own and never mean "not found". Whatever is
// written that leaves the head of a partition final or without Due makes the next
// one of that partition due at once. It may grow before v1.
type Store[T any] interface {
	// Add writes a new operation in the caller's transaction, or in that of the
	// effect that is given tx: accepted, created and due at the store's time.
	// [ErrAccepted]: the action has this step already; the transaction may be
	// unusable after it. What [Operation.Validate] names is refused.
	Add(ctx context.Context, tx T, o Operation) error
	// Load returns the operation with ref and the store's time, or
	// [record.ErrNotFound].
	Load(ctx context.Context, ref string) (Operation, time.Time, error)
	// Of returns the operations of an action, in the order of their insertion.
	Of(ctx context.Context, action string) ([]Operation, error)
	// Take offers up to limit operations of provider whose Due is not after the
	// store's time, longest due first, leaving out those that another transaction
	// holds, and writes in one transaction what decide makes of each. It returns
	// those that were written, as they were written, and the store's time.
	// decide may be asked again when the transaction has to start anew.
	//
	// One that cannot be read, or whose record cannot be, is not offered and stands
	// in nobody's way: its Due alone is moved, [Aside] from now. The error wraps
	// [record.RecordUnreadable] then and names the refs of all such; what was
	// written is returned beside it. The later ones of its partition wait. One of a
	// newer version is left for it.
	Take(ctx context.Context, provider string, limit int, decide func(Seen) Edit) ([]Operation, time.Time, error)
	// Change offers the operation with ref, held by a transaction, and commits
	// what decide writes with tx and returns as an edit: both or neither. decide
	// may be asked again when the transaction has to start anew; an error of it
	// is returned and nothing is written. [record.ErrNotFound]: there is none.
	// After an error of COMMIT load it again: Version tells whether it happened.
	Change(ctx context.Context, ref string, decide func(ctx context.Context, tx T, seen Seen) (Edit, error)) error
	// List returns up to limit operations like the given one, oldest first: its
	// non-zero Provider, Step, Action, State and Disputed must agree. limit is
	// cut to 1,000, and 0 means 100. They are [Operation.Brief]: Load has the rest.
	// Parked ones cannot be asked for: no index tells them from settled ones. Beside
	// those that it can read it returns an error that wraps
	// [record.RecordUnreadable] or [record.ErrNewerFormat] and names the refs of
	// those that it cannot.
	List(ctx context.Context, like Operation, limit int) ([]Operation, error)
	// Due returns, by provider, since when the longest due of its operations is due,
	// whoever takes them, and the store's time.
	Due(ctx context.Context) (since map[string]time.Time, now time.Time, err error)
	// Forget removes at most limit settled, undisputed operations that became
	// final before t and whose action, if they have one, is remembered no more.
	// It returns how many it removed.
	Forget(ctx context.Context, t time.Time, limit int) (int, error)
	// Woken returns a channel that receives when another process may have made
	// an operation due; nil where the engine cannot tell.
	Woken() <-chan struct{}
}

// Aside is how long Take leaves alone what it could not read.
const Aside = 10 * time.Minute

// Seen is one operation as a transaction found it.
type Seen struct {
	Operation Operation
	Record    *record.Record // that waits for it; nil where none does, or where it was forgotten
	// Behind: an earlier operation of the same provider and partition is not
	// settled and not parked; it is due at that time. Only Take tells.
	Behind time.Time
	// LostUntil: what happened until then may have been lost, as a fence over the
	// action says, or one over everything where there is none; zero without one.
	LostUntil time.Time
	Now       time.Time // the store's, one stamp per transaction
}

// Edit is what a transaction writes. The zero value writes nothing.
type Edit struct {
	Put    *Operation     // in place of the seen one; the store sets Version
	Record *record.Record // in place of the seen record; the store sets Version

	// What an operator did, one line of audit about the action's record or, where
	// there is none, about the operation. By is empty for machines.
	By, Action, Reason, Detail string
}
