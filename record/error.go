package record

import (
	"errors"
	"time"
)

// Error is a refusal with its data. errors.Is finds its [Problem] and whatever
// Err wraps. It never carries a key, a payload or a credential.
type Error struct {
	Problem    Problem
	Row        string        // row of the decision table, "6a"
	Ref        string        // the record's ref when one is known
	State      State         // the record's state when one is known
	Effect     string        // effect reference of a done action
	Record     *Record       // the record behind the refusal, nil when none was seen
	Born       time.Time     // the time inside the key, where that was the reason
	Now        time.Time     // the store's time of the decision
	RetryAfter time.Duration // when to ask again; 0 where a retry is of no use
	Final      bool          // retries are of no use although the problem usually allows them
	Wrote      bool          // HandlerFailed: the effect had written rows; they were rolled back
	Err        error         // the cause
}

func (e *Error) Error() string {
	s := e.Problem.Error()
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap exposes the problem and the cause.
func (e *Error) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Problem}
	}
	return []error{e.Problem, e.Err}
}

// Retryable reports whether the same request may be sent again.
func (e *Error) Retryable() bool { return !e.Final && e.Problem.Retryable() }

var (
	// ErrNested: Execute was called inside an effect.
	ErrNested = errors.New("refrain: Execute inside an effect")
	// ErrHeld is wrapped by engines whose run found the identity claimed by a live
	// transaction elsewhere, of which nothing can be seen: row 6a, for the driver
	// to wait and ask again.
	ErrHeld = errors.New("refrain: the identity is claimed by another transaction")
	// ErrNotBegun is wrapped by engines where the transaction was not to be had:
	// nothing was tried.
	ErrNotBegun = errors.New("refrain: the transaction did not begin")
	// ErrNotFound: no record has this ref.
	ErrNotFound = errors.New("refrain: no such record")
	// ErrSwapped: the record changed since it was loaded; load it again.
	ErrSwapped = errors.New("refrain: the record has changed")
	// ErrNewerFormat: the record was written by a newer version.
	ErrNewerFormat = errors.New("refrain: the record was written by a newer version")
)
