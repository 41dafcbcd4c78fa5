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
	// List returns up to limit records like the given one, newest first and
	// without bodies. Its non-zero Identity.Scope, Identity.Operation and State
	// must agree; limit is cut to 1,000, and 0 means 100.
	List(ctx context.Context, like Record, limit int) ([]Record, error)
	// Forget removes at most limit final, undisputed records whose memory has
	// ended at the store's time and raises the horizon of their operations, in
	// one transaction, horizon first. It returns how many it removed.
	Forget(ctx context.Context, limit int) (int, error)
}
