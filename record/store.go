package record

import (
	"context"
	"time"
)

// Store is what an engine offers outside transactions. Errors other than those
// named are the store's own and never mean "not found". It may grow before v1.
type Store interface {
	// Load returns what is known of id, all of it from one snapshot, and the
	// store's time. No record is not an error: Seen.Record is nil.
	// A record that cannot be decoded is RecordUnreadable.
	Load(ctx context.Context, id Identity) (Seen, time.Time, error)
	// Find returns the record with ref, or ErrNotFound.
	Find(ctx context.Context, ref string) (Record, error)
	// Swap writes next in place of old and returns it with its new version.
	// A zero old means that none may exist. ErrSwapped: the record is not old
	// any more; nothing was written. (Ref, Version) is never reused, so a
	// stale owner cannot win after a purge and a new insertion. After any other
	// error Load again: a record with next's ref means this write won.
	Swap(ctx context.Context, old, next Record) (Record, error)
	// Change looks at id in a transaction that nobody else can interleave with,
	// asks what to write and commits it. decide may be asked again when the
	// transaction has to start anew. An error of decide is returned and nothing
	// is written. After an error of COMMIT look again: a record with the
	// written ref and version means that it happened.
	Change(ctx context.Context, id Identity, decide func(seen Seen, now time.Time) (Edit, error)) error
	// List returns up to limit records like the given one, newest first and
	// without bodies. Its non-zero Identity.Scope, Identity.Operation and State
	// must agree; limit is cut to 1,000, and 0 means 100.
	List(ctx context.Context, like Record, limit int) ([]Record, error)
}

// Edit is what a change writes. The zero value writes nothing.
type Edit struct {
	Put        *Record // in place of the seen record, if there is one; its Version is set by the store
	Remove     bool    // the seen record
	Register   *Claim  // whose operation and contract the store learns if it does not know it
	Review     *Claim  // a refused late retry to keep: one row per identity, counted, capped per scope
	Reviewed   bool    // the identity's row of review is settled and removed
	SpendAllow bool
	GrantAllow string // an allow for the identity, with this reason

	// What an operator did, one line of audit written with the change; By is
	// empty for machines, which write none.
	By, Action, Reason, Detail string
}

// Subject is for engine authors: the ref that e's line of audit tells, of the
// record that was seen, else of the one that is put; "" where there is neither.
func (e Edit) Subject(seen Seen) string {
	switch {
	case seen.Record != nil:
		return seen.Record.Ref
	case e.Put != nil:
		return e.Put.Ref
	}
	return ""
}
