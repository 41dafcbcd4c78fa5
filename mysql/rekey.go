package mysql

import (
	"context"
	"fmt"
	"time"

	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

// What a rekey is asked to do and what it did.
type (
	Rekey      = upkeep.Rekey
	Rekeyed    = upkeep.Rekeyed
	RekeyError = upkeep.RekeyError
)

// ErrRekey is wrapped by what is wrong with a [Rekey] itself: identities that
// make no contract.
var ErrRekey = upkeep.ErrRekey

// movedTo begins the identity version of an operation whose records were moved
// to another id. No contract has it, so its old processes execute nothing.
const movedTo = "moved to "

// Rekey rewrites the identity of every record of an operation and of what
// stands beside them: its horizon, fences, allows and reviews. All of it is one
// transaction, so a crash leaves the old or the new identities. It holds the
// operation's row, which every writer of a record holds, too: those that are
// under way end first, the others wait and then find the new contract.
// Afterwards a process with the old one is [refrain.ErrContractChanged].
//
// It refuses with a [RekeyError], with [record.ErrNotFound] for an operation the
// store does not know, and with [ErrRekey] for identities that make no contract.
// Its memory is about 150 bytes per record.
func (db *DB) Rekey(ctx context.Context, r Rekey) (done Rekeyed, err error) {
	if r, err = r.Checked(); err != nil {
		return Rekeyed{}, err
	}
	err = db.writing(ctx, func(ctx context.Context, tx runner) error {
		done, err = db.rekey(ctx, tx, r)
		return err
	})
	if err != nil {
		return Rekeyed{}, err
	}
	return done, nil
}

func (db *DB) rekey(ctx context.Context, tx runner, r Rekey) (Rekeyed, error) {
	done := Rekeyed{Operation: r.To}
	from, known, err := db.lockOperation(ctx, tx, r.Operation)
	switch {
	case err != nil:
		return done, err
	case !known:
		return done, fmt.Errorf("%w: the store does not know the operation %q", record.ErrNotFound, r.Operation)
	case from.contract == "":
		return done, fmt.Errorf("%w: the records of %q were %s", record.ErrNotFound, r.Operation, from.identity)
	}
	// Both rows are locked before anything is read: what is read now stays so.
	into, err := db.lockTarget(ctx, tx, r)
	if err != nil {
		return done, err
	}
	now, err := db.clock(ctx, tx)
	if err != nil {
		return done, err
	}
	to := upkeep.NewMove(r, from.identity)
	moves, err := plan(ctx, tx, r, to, now)
	if err != nil {
		return done, err
	}
	// All that names the operation moves, and all of it must fit the new identity.
	if done.Records, err = moves.write(ctx, tx, r.To); err != nil {
		return done, err
	}
	if done.Reviews, err = moveReviews(ctx, tx, r, to); err != nil {
		return done, err
	}
	if done.Allows, err = moveAllows(ctx, tx, r, to); err != nil {
		return done, err
	}
	if _, err := tx.ExecContext(ctx, overtakenSQL, []byte(r.To), now.UnixMicro()); err != nil {
		return done, err
	}
	if done.Identity, err = to.Version(); err != nil {
		return done, err
	}
	if done.Fences, err = moveFences(ctx, tx, r, to); err != nil {
		return done, err
	}
	if err := moveOperation(ctx, tx, r, done.Identity, from, into, now); err != nil {
		return done, err
	}
	return done, audit(ctx, tx, Audit{At: now, By: r.By, Action: "rekey", Reason: r.Reason,
		Detail: fmt.Sprintf("%s by %s to %s by %s: %d records", r.Operation, from.identity, r.To, done.Identity, done.Records)})
}

// lockTarget locks the row of the operation that is moved to, and makes one
// where there is none: else a process could begin it meanwhile.
func (db *DB) lockTarget(ctx context.Context, tx runner, r Rekey) (operationRow, error) {
	if r.To == r.Operation {
		return operationRow{}, nil
	}
	into, known, err := db.lockOperation(ctx, tx, r.To)
	if err == nil && !known {
		into, err = db.newOperation(ctx, tx, r.To, movedTo+r.To, []byte{})
	}
	return into, err
}

// overtakenSQL removes allows that came to stand beside a record: they would let it
// run once more when its memory ends.
const overtakenSQL = `DELETE FROM refrain_allow WHERE operation = ? AND EXISTS (SELECT 1 FROM refrain_record r WHERE r.hash = refrain_allow.hash
 AND (r.remember_until IS NULL OR r.disputed OR r.remember_until > ?))` + unfound

// moveOperation writes the operation's row under its new id and version. The
// row of an old id stays, to be refused.
func moveOperation(ctx context.Context, tx runner, r Rekey, identity string, from, into operationRow, now time.Time) error {
	if into.contract != "" { // its own processes have begun; they keep their contract
		if into.identity != identity {
			return fmt.Errorf("%w: the store keeps %q by %q, and the moved records would be by %q", ErrRekey, r.To, into.identity, identity)
		}
		from.horizon = upkeep.MergedHorizon(from.horizon, into.horizon, []byte(from.contract), []byte(into.contract), now)
		from.contract = into.contract
	}
	if r.To != r.Operation {
		_, err := tx.ExecContext(ctx, `UPDATE refrain_operation SET identity = ?, contract = X'', horizon = NULL WHERE operation = ?`,
			[]byte(movedTo+r.To), []byte(r.Operation))
		if err != nil {
			return err
		}
	}
	published, err := upkeep.Republished(from.contract, r.To, identity)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `UPDATE refrain_operation SET identity = ?, contract = ?, horizon = ? WHERE operation = ?`,
		[]byte(identity), []byte(published), micros(from.horizon), []byte(r.To))
	return err
}
