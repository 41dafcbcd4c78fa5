package refrain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/refrain-dev/refrain/fingerprint"
	"github.com/refrain-dev/refrain/record"
)

// KeyTime says how the birth of a key is read from the key itself.
type KeyTime = record.KeyTime

// The ways to read a key's birth; see the record package for details.
const (
	KeyTimeByShape  = record.ByShape
	KeyTimeULID     = record.ULID
	KeyTimeNone     = record.None
	KeyTimeRequired = record.Required
)

// Defaults of a contract. A negative duration or count means none.
const (
	DefaultMaxBody      = 1 << 20
	DefaultMaxResponse  = 1 << 20
	DefaultWait         = 2 * time.Second
	DefaultMaxExecution = 30 * time.Second
	DefaultCommitWait   = 10 * time.Second
	DefaultMaxWaiters   = 1000
	DefaultLease        = 30 * time.Second
)

// Contract is the declared policy of one operation. Operation, Schema,
// ReplayFor and RememberFor are required; everything else has a default.
// Docs, headers, checks and the stored contract come from it.
type Contract struct {
	// Operation is the stable id of the action type, "orders.create": 1 to 100
	// of letters, digits, '.', '_', '-', '/'. It is part of the identity.
	Operation string
	// Schema is the version of the request's meaning, 1 to 32 visible
	// characters. Raise it when equal bytes come to mean something else.
	Schema string
	// ReplayFor is how long the full result is replayed, RememberFor how long
	// the action is recognised; RememberFor is not shorter. Both run from the
	// instant the record became final. From 1 s (ReplayFor) to 100 years.
	ReplayFor, RememberFor time.Duration

	// Dimensions are the scope's dimension names in order. Nil means tenant,
	// and subject where the principal function returns one.
	Dimensions []string
	// KeyTime says how the birth of a key is read.
	KeyTime KeyTime
	// Skew is the tolerated clock difference to clients: by default the lesser
	// of 5 minutes and RememberFor/4, which is also the most allowed.
	Skew time.Duration
	// RunUntimed lets untimed keys execute while a recovery fence stands. By
	// default they are stored for review.
	RunUntimed bool

	// Fields are the request header fields that belong to the request's meaning.
	Fields []string
	// Rule forces a fingerprint rule; "" chooses by media type.
	Rule string
	// ExactNames accepts JSON member names that differ only by letter case.
	ExactNames bool
	// Meaning, if set, returns the normalised command that decides whether two
	// requests are the same, under the rule id MeaningRule. It is a function of
	// the request alone. Raise MeaningRule when its output changes.
	Meaning     func(fingerprint.Request) ([]byte, error)
	MeaningRule string

	// KeyOptional lets requests without a key pass, unprotected and counted.
	KeyOptional bool
	// Methods are the guarded HTTP methods; nil means POST and PATCH.
	Methods []string
	// MaxBody and MaxResponse bound request and response bodies in bytes.
	MaxBody, MaxResponse int64
	// KeepDigest records only the digest of a response over MaxResponse, and
	// repeats get row 5; by default such a response is rolled back (row 15).
	KeepDigest bool
	// SendUndeclared sends an undeclared answer although the effect wrote: it
	// is rolled back quietly. By default that is a loud 500.
	SendUndeclared bool
	// SeeOther answers row 5 with 303 and the effect's Location instead of 410.
	SeeOther bool
	// Async answers unfinished records with 202 and their state (row 6b).
	Async bool
	// Observe decides, counts and marks, but never refuses or replays.
	Observe bool

	// Lease is how long the claim of a handler that commits for itself is held
	// without a sign of its owner, by default 30 s. After it the outcome is
	// unknown. At least 1 s.
	Lease time.Duration
	// RerunLost lets a retry run the handler again when the outcome of an attempt
	// is unknown: the handler says that it is idempotent by itself. By default
	// nothing re-runs and a person or a reconciler decides.
	RerunLost bool
	// FreeOn are the statuses by which a handler that commits for itself says
	// that nothing happened; they free the key. None by default: no status
	// proves that.
	FreeOn []int

	// Wait is how long a duplicate waits for the first, by default 2 s.
	Wait time.Duration
	// MaxExecution bounds one run of the effect, by default 30 s.
	MaxExecution time.Duration
	// CommitWait is how long a caller waits for COMMIT's answer, by default 10 s.
	CommitWait time.Duration
	// MaxWaiters bounds the waiting duplicates of one identity, by default 1,000.
	MaxWaiters int
	// Ungrouped never shares a transaction with other callers: for effects that
	// take long.
	Ungrouped bool
}

const maxMemory = 100 * 365 * 24 * time.Hour

// Validate reports the first field that is wrong, by name.
func (c Contract) Validate() error {
	fault := func(field, format string, args ...any) error {
		return fmt.Errorf("refrain: Contract.%s of %q %s", field, c.Operation, fmt.Sprintf(format, args...))
	}
	p := c.Policy()
	switch {
	case !validName(c.Operation):
		return fault("Operation", "needs 1 to 100 of letters, digits and . _ - /")
	case c.Schema == "" || len(c.Schema) > 32 || strings.ContainsFunc(c.Schema, func(r rune) bool { return r <= ' ' || r > '~' }):
		return fault("Schema", "needs 1 to 32 visible ASCII characters")
	case c.ReplayFor < time.Second:
		return fault("ReplayFor", "is %v, 1s is the least", c.ReplayFor)
	case c.RememberFor < c.ReplayFor:
		return fault("RememberFor", "is %v, shorter than ReplayFor %v", c.RememberFor, c.ReplayFor)
	case c.RememberFor > maxMemory:
		return fault("RememberFor", "is over 100 years")
	case c.KeyTime < KeyTimeByShape || c.KeyTime > KeyTimeRequired:
		return fault("KeyTime", "is not one of the four")
	case p.Skew > c.RememberFor/4:
		return fault("Skew", "is %v, over a quarter of RememberFor", c.Skew)
	case c.Rule != "" && !fingerprint.Known(c.Rule):
		return fault("Rule", "%q is not known", c.Rule)
	case (c.Meaning == nil) != (c.MeaningRule == ""):
		return fault("MeaningRule", "goes with Meaning, and Meaning with it")
	case fingerprint.Known(c.MeaningRule):
		return fault("MeaningRule", "%q is a rule of its own", c.MeaningRule)
	case c.Dimensions != nil && !validDimensions(c.Dimensions):
		return fault("Dimensions", "need 1 to %d different names, the first of them tenant, of letters, digits and . _ - /", maxDimensions)
	case c.Wait > time.Hour:
		return fault("Wait", "is %v, 1h is the most", c.Wait)
	case c.CommitWait > time.Hour:
		return fault("CommitWait", "is %v, 1h is the most", c.CommitWait)
	case c.Lease != 0 && c.Lease < time.Second || c.Lease > time.Hour:
		return fault("Lease", "is %v, 1s to 1h are possible", c.Lease)
	case slices.ContainsFunc(c.FreeOn, func(status int) bool { return status < 400 || status > 599 }):
		return fault("FreeOn", "has a status that is no refusal (400 to 599): a success that frees its key is a second effect")
	case c.MaxExecution < 0 || c.MaxExecution > 24*time.Hour:
		return fault("MaxExecution", "is %v: an effect needs time, and 24h is the most", c.MaxExecution)
	}
	return nil
}

// validDimensions keeps names free of the comma that joins them in the identity version.
func validDimensions(names []string) bool {
	for i, name := range names {
		if !validName(name) || slices.Contains(names[:i], name) {
			return false
		}
	}
	return len(names) > 0 && len(names) <= maxDimensions && names[0] == "tenant"
}

func validName(s string) bool {
	return s != "" && len(s) <= 100 && !strings.ContainsFunc(s, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("._-/", r))
	})
}

// Policy is the contract with its defaults put in, as the domain and engines read it.
func (c Contract) Policy() record.Policy {
	return record.Policy{
		ReplayFor:    c.ReplayFor,
		RememberFor:  c.RememberFor,
		KeyTime:      c.KeyTime,
		Skew:         orDefault(c.Skew, min(5*time.Minute, c.RememberFor/4)),
		Async:        c.Async,
		RunUntimed:   c.RunUntimed,
		MaxExecution: orDefault(c.MaxExecution, DefaultMaxExecution),
		CommitWait:   orDefault(c.CommitWait, DefaultCommitWait),
		Wait:         orDefault(c.Wait, DefaultWait),
		MaxWaiters:   orDefault(c.MaxWaiters, DefaultMaxWaiters),
		MaxResult:    orDefault(c.MaxResponse, DefaultMaxResponse),
		Digest:       c.KeepDigest,
		Lease:        orDefault(c.Lease, DefaultLease),
		Rerun:        c.RerunLost,
		Solo:         c.Ungrouped,
	}
}

// orDefault puts in the default for zero and nothing for a negative value.
func orDefault[N int | int64 | time.Duration](v, def N) N {
	if v == 0 {
		return def
	}
	return max(v, 0)
}
