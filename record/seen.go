package record

import (
	"time"

	"github.com/refrain-dev/refrain/fingerprint"
)

// Seen is what a lookup found. The record and what stands beyond it (horizon,
// fences, allow) come from one snapshot: read apart, a reaper between the two
// reads would hide both the record and the horizon it raised.
type Seen struct {
	Record *Record // nil when none
	Held   bool    // a live claim exists whose record is not visible

	Horizon    time.Time // latest birth of any final record of the operation ever forgotten; zero if none
	FenceUntil time.Time // latest `until` of the fences that cover the identity; zero if none
	FenceOpen  bool      // one of those fences has not ended
	Allowed    bool      // an unspent allow names the identity

	// IdentityVersion is what the store knows of the operation's scope
	// dimensions, "" where it has never seen the operation.
	IdentityVersion string

	// Failure is why the lookup or the run could not be finished: one of
	// StoreUnavailable, CommitUnknown, NotExecuted, ResponseTooLarge,
	// AnswerUndeclared, NotRecordable, RecordUnreadable, ContractChanged.
	Failure Problem
	// Submitted: the failure happened after the effect may have left.
	Submitted bool
}

// Request is what the guard knows of a request before and beside the lookup.
type Request struct {
	Principal Problem // PrincipalMissing, Forbidden, PrincipalUnproven, or "" when verified
	KeyFault  Problem // KeyMissing, KeyInvalid, or ""
	Keyless   bool    // no key where the key is optional: pass, no record
	BodyFault Problem // BodyTooLarge, BodyNotCanonical, or ""

	Key   string
	Fresh bool // the key was made for this request, which so cannot be a retry
	Print fingerprint.Print
	// Recompute returns the deciding digest of this request under another rule
	// and schema, ok = false where this binary does not know them. May be nil.
	Recompute func(rule, schema string) (digest [32]byte, ok bool)
}

// same reports whether the request is the one rec remembers. After a change of
// rule or schema the stored rule decides if this binary still knows it; else
// only the raw digest may agree. A rebuilt record remembers no request: there is
// none that it could be told from.
func (r Request) same(rec *Record) bool {
	if rec.Print == (fingerprint.Print{}) {
		return true
	}
	if r.Print.Rule != rec.Print.Rule || r.Print.Schema != rec.Print.Schema {
		if r.Recompute != nil {
			if digest, ok := r.Recompute(rec.Print.Rule, rec.Print.Schema); ok {
				return digest == rec.Print.Deciding
			}
		}
		return r.Print.Raw == rec.Print.Raw
	}
	return r.Print.Same(rec.Print)
}
