package sqlite

import (
	"context"
	"errors"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"
)

const addOperationSQL = `INSERT INTO refrain_external (ref, version, action, step, provider, partition, state, disputed, due, created, final, format, data, input)
VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?)`

// Add implements [operation.Store]. tx is that of an effect, of [DB.Update], or
// a transaction of the caller's on any handle of this file. It stays usable after
// [operation.ErrAccepted].
func (s operations) Add(ctx context.Context, tx Tx, o operation.Operation) error {
	if err := o.Validate(); err != nil {
		return err
	}
	now := s.db.opts.Now()
	o.Version, o.State, o.Created, o.Due = 1, record.Accepted, now, now
	text, err := operation.EncodeText(o)
	if err != nil {
		return err
	}
	_, err = ownIn(tx).exec(ctx, addOperationSQL, o.Ref, o.Version, nameOrNull(o.Action), o.Step, o.Provider, o.Partition,
		int(o.State), o.Disputed, micros(o.Due), micros(o.Created), micros(o.Final), operation.Format, string(text), orNull(o.Input))
	if stepTaken(err) {
		return operation.ErrAccepted
	}
	return migrated(err)
}

// ownIn runs the engine's own statements in a transaction that was handed out.
func ownIn(tx Tx) runner {
	if h, ok := tx.(handle); ok && h.guard != nil {
		return h
	}
	return foreign{tx}
}

// nameOrNull keeps no name as NULL.
func nameOrNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// stepTaken reports that the action has the step already. Drivers other than
// ours are recognised by their text.
func stepTaken(err error) bool {
	unique := errors.Is(err, sqlite3.CONSTRAINT_UNIQUE) || err != nil && strings.Contains(err.Error(), "UNIQUE constraint failed")
	return unique && strings.Contains(err.Error(), "refrain_external.step")
}
