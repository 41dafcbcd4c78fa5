package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/refrain-dev/refrain/record"
)

// errOutage: a statement of an effect failed by no fault of the effect's.
var errOutage = errors.New("postgres: the store failed under the effect")

// outage reports an error that tells of the store and not of what was asked of
// it: it is down, read-only, full or too slow for its own limits.
func outage(err error) bool {
	state := sqlState(err)
	if len(state) != 5 {
		return false
	}
	switch state[:2] {
	case "08", "53", "58", "XX": // connection, resources, system, internal
		return true
	}
	switch state {
	case "25006", // a standby, or a primary that was demoted
		"57P01", "57P02", "57P03", // shut down, crashed, not up yet
		"57014", "55P03": // statement_timeout and lock_timeout
		return true
	}
	return false
}

// met is the outage a transaction's latest failure was, if it was one.
type met struct{ error }

// after is what is met once a statement that ran on ctx has failed. What its own
// context cut short is no outage, and what is refused for an earlier failure is
// not the latest.
func (m met) after(ctx context.Context, err error) met {
	switch {
	case sqlState(err) == "", sqlState(err) == failedTransaction:
		return m
	case outage(err) && ctx.Err() == nil:
		return met{err}
	}
	return met{}
}

// spoilt reports that an effect which returned err failed of an outage: aborted
// is its transaction, or it says so itself.
func (m met) spoilt(aborted bool, err error) bool {
	return m.error != nil && (aborted || outage(err))
}

// failing is row 9 for an effect that met an outage and returned err. Nothing of
// it is kept.
func (m met) failing(err error) error {
	var refusal *record.Error
	if err == nil || errors.As(err, &refusal) {
		return fmt.Errorf("%w: %w", errOutage, m.error)
	}
	return fmt.Errorf("%w: %w", errOutage, errors.Join(err, m.error))
}

// ownFault reports an error of COMMIT that comes of what the effect wrote: a
// deferred constraint or trigger of its own tables.
func ownFault(err error) bool {
	return errors.Is(err, errAtCommit) && sqlState(err) != "" && !outage(err) && !retryable(err) &&
		!strings.HasPrefix(sqlState(err), "57") && !errors.Is(err, record.CommitUnknown)
}

// errAtCommit: COMMIT itself was refused; all statements had been fine.
var errAtCommit = errors.New("postgres: COMMIT failed")
