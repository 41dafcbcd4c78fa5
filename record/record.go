package record

import (
	"time"

	"github.com/refrain-dev/refrain/fingerprint"
)

// Format is the version of the record layout this package writes. A record of
// a newer format is answered as store-unavailable: a rolling upgrade must not
// teach clients to give up.
const Format = 1

// Record is the remembered action. A receipt is a record in a final state; a
// tombstone is a receipt whose result is no longer kept. Times are UTC with
// microsecond precision.
type Record struct {
	Identity Identity
	Ref      string // public id, see [NewRef]
	Version  int64  // rises with each change; (Ref, Version) is never reused
	Format   int

	State    State
	Disputed bool // two answers contradict each other; a person must correct

	Print  fingerprint.Print
	Actor  string // the acting principal, beside the identity and not in it
	Result Result

	Created       time.Time
	Final         time.Time // when the state became final; zero before
	ReplayUntil   time.Time // end of replay; set when final
	RememberUntil time.Time // end of memory; set when final

	Attempt int       // attempts begun
	Fence   int64     // of the newest attempt; greater than every earlier one's
	Lease   time.Time // end of the newest attempt's lease; zero without one

	// Evidence are the answers that contradict Result, or came from attempts that
	// were not the newest, oldest first: kept for a person, never replayed.
	Evidence []Result
}

// Result is what an effect answered, as it is replayed.
type Result struct {
	Status   int         // HTTP status; 0 for a library result
	Header   [][2]string // kept header fields, in order, repeated names allowed
	Body     []byte      // exact bytes
	Effect   string      // effect reference: where the outcome can be seen
	Rejected bool        // a recorded refusal: no effect, writes rolled back
	Digest   []byte      // SHA-256 of the body where the body was too large to keep; see Trimmed
}

// Trimmed is the digest of a result that was kept until the end of its replay and
// no longer is: a clock that is set back must not bring half of it to light.
var Trimmed = []byte{0}

// Kept reports whether the result can be replayed in full.
func (r Result) Kept() bool { return len(r.Digest) == 0 }

// Settle makes r final at now under the memory p: the deadlines run from this
// instant, are stored absolutely and never recomputed.
func (r *Record) Settle(result Result, now time.Time, p Policy) {
	now = Micro(now)
	r.State = Confirmed
	if result.Rejected {
		r.State = Rejected
	}
	r.Result = result
	r.Final = now
	r.ReplayUntil = Micro(now.Add(p.ReplayFor))
	r.RememberUntil = Micro(now.Add(p.RememberFor))
}

// Micro cuts t to the precision records are stored in: UTC microseconds.
func Micro(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }
