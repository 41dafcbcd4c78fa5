package refrain

import (
	"errors"

	"github.com/refrain-dev/refrain/record"
)

// Error is a refusal with its data: the row of the decision table, the ref and
// state of the record, when to retry. Find it with [errors.As], branch on the
// sentinels with [errors.Is].
type Error = record.Error

// Sentinels of the decision table; its documentation says what each means, what
// the caller may do next and how it looks over HTTP.
const (
	ErrTooLate          = record.TooLate
	ErrKeyFromFuture    = record.KeyFromFuture
	ErrKeyReused        = record.KeyReused
	ErrResultGone       = record.ResultGone
	ErrInProgress       = record.InProgress
	ErrOutcomeUnknown   = record.OutcomeUnknown
	ErrOutcomeDisputed  = record.OutcomeDisputed
	ErrUnavailable      = record.StoreUnavailable
	ErrCommitUnknown    = record.CommitUnknown
	ErrKeyMissing       = record.KeyMissing
	ErrKeyInvalid       = record.KeyInvalid
	ErrBodyTooLarge     = record.BodyTooLarge
	ErrBodyNotCanonical = record.BodyNotCanonical
	ErrNotExecuted      = record.NotExecuted
	ErrResultTooLarge   = record.ResponseTooLarge
	ErrEffectFailed     = record.HandlerFailed
	ErrUnreadable       = record.RecordUnreadable
	ErrContractChanged  = record.ContractChanged
	ErrRecovering       = record.Recovering
)

var (
	// ErrUnauthenticated is what a principal function returns for a request
	// without valid credentials: 401.
	ErrUnauthenticated = errors.New("refrain: not authenticated")
	// ErrForbidden is what a principal function returns for a caller that may
	// not do this: 403.
	ErrForbidden = errors.New("refrain: not allowed")
	// ErrNested: Execute was called inside an effect.
	ErrNested = record.ErrNested
	// ErrNotFound: no record has this ref.
	ErrNotFound = record.ErrNotFound
	// ErrTaken: the rule given to an engine's Once holds this value already; nothing
	// was written and the transaction goes on.
	ErrTaken = errors.New("refrain: the rule holds this value already")
	// ErrNotMigrated: the database has no Refrain tables, or older ones; run Migrate.
	ErrNotMigrated = errors.New("refrain: the database is not migrated")
	// ErrNewerSchema: the database was migrated by a newer version.
	ErrNewerSchema = errors.New("refrain: the database was migrated by a newer version")
	// ErrShorterMemory: the store keeps a longer RememberFor for the operation; a
	// person must agree to the shorter one, see refrain contract register --yes.
	ErrShorterMemory = errors.New("refrain: the contract remembers for less than the stored one")
	// ErrRetryTransaction: the caller's transaction lost a race and must be run
	// again from its start; it wraps the driver's error.
	ErrRetryTransaction = errors.New("refrain: run the transaction again")
	// ErrOwned: the transaction belongs to Refrain; effects do not end it, nor
	// change the schema or the session. What is refused beyond that differs by
	// engine; see its page in docs/engines.
	ErrOwned = errors.New("refrain: not allowed inside an effect")
)

// Rejection is a recorded refusal: the effect decided against the action and
// repeats get the same answer. Make one with [Reject].
type Rejection struct {
	Err error
}

// Reject marks err as the recorded outcome of the action: its writes are rolled
// back, the receipt is kept, repeats are told the same.
func Reject(err error) error {
	if err == nil {
		return nil
	}
	return &Rejection{Err: err}
}

func (r *Rejection) Error() string { return r.Err.Error() }

// Unwrap returns the reason. After a replay only its text is left.
func (r *Rejection) Unwrap() error { return r.Err }
