package record

import "time"

// Policy is what the domain needs to know of a contract: the part that decides.
// Durations are positive; the contract has put its defaults in.
type Policy struct {
	ReplayFor    time.Duration // full result, from finality
	RememberFor  time.Duration // recognition, from finality; at least ReplayFor
	KeyTime      KeyTime
	Skew         time.Duration // tolerated clock difference to clients
	Async        bool          // unfinished records answer with their state (row 6b)
	RunUntimed   bool          // untimed keys execute under a standing fence instead of going to review
	MaxExecution time.Duration // bound of one run of the effect, COMMIT excluded
	CommitWait   time.Duration // how long a caller waits for COMMIT's answer
	Wait         time.Duration // how long a duplicate waits for the first; 0 means not at all
	MaxWaiters   int           // waiting duplicates per identity
	MaxResult    int64         // longest result body kept, in bytes
	Digest       bool          // a longer body keeps its digest instead of failing
	Lease        time.Duration // how long a committed claim is held without a sign of its owner
	Rerun        bool          // a lost outcome may be tried again: the handler is idempotent by itself
	Solo         bool          // never share a transaction with other callers
}
