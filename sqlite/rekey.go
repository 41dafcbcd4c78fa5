package sqlite

import (
	"context"
	"database/sql"
	"errors"
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
// transaction on the writer, so a crash leaves the old or the new identities;
// meanwhile writers wait, at most their Options.Busy, and are row 9. Afterwards
// a process with the old contract is [refrain.ErrContractChanged].
//
// It refuses with a [RekeyError], with [record.ErrNotFound] for an operation the
// store does not know, and with [ErrRekey] for identities that make no contract. Its memory is about 150 bytes per record.
func (db *DB) Rekey(ctx context.Context, r Rekey) (done Rekeyed, err error) {
	if r, err = r.Checked(); err != nil {
		return Rekeyed{}, err
	}
	err = db.writing(ctx, func(ctx context.Context, s *session) error {
		done, err = rekey(ctx, s, r, db.opts.Now())
		return err
	})
	if err != nil {
		return Rekeyed{}, err
	}
	return done, nil
}

func rekey(ctx context.Context, s *session, r Rekey, now time.Time) (Rekeyed, error) {
	done := Rekeyed{Operation: r.To}
	from, err := knownOperation(ctx, s.run, r.Operation)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return done, fmt.Errorf("%w: the store does not know the operation %q", record.ErrNotFound, r.Operation)
	case err != nil:
		return done, err
	case from.contract == "":
		return done, fmt.Errorf("%w: the records of %q were %s", record.ErrNotFound, r.Operation, from.identity)
	}
	to := upkeep.NewMove(r, from.identity)
	moves, err := plan(ctx, s, r, to, now)
	if err != nil {
		return done, err
	}
	// All that names the operation moves, and all of it must fit the new identity.
	if done.Records, err = moves.write(ctx, s.run, r.To); err != nil {
		return done, err
	}
	if done.Reviews, err = moveReviews(ctx, s, r, to); err != nil {
		return done, err
	}
	if done.Allows, err = moveAllows(ctx, s, r, to); err != nil {
		return done, err
	}
	if _, err := s.run.exec(ctx, overtakenSQL, r.To, now.UnixMicro()); err != nil {
		return done, err
	}
	if done.Identity, err = to.Version(); err != nil {
		return done, err
	}
	if done.Fences, err = moveFences(ctx, s, r, to); err != nil {
		return done, err
	}
	if err := moveOperation(ctx, s.run, r, done.Identity, from, now); err != nil {
		return done, err
	}
	_, err = s.run.exec(ctx, `INSERT INTO refrain_audit (at, by, action, ref, reason, detail) VALUES (?, ?, 'rekey', '', ?, ?)`,
		now.UnixMicro(), r.By, r.Reason,
		fmt.Sprintf("%s by %s to %s by %s: %d records", r.Operation, from.identity, r.To, done.Identity, done.Records))
	return done, err
}

// overtakenSQL removes allows that came to stand beside a record: they would let it
// run once more when its memory ends.
const overtakenSQL = `DELETE FROM refrain_allow WHERE operation = ?1 AND EXISTS (SELECT 1 FROM refrain_record r
 WHERE r.hash = refrain_allow.hash AND (r.remember_until IS NULL OR r.disputed OR r.remember_until > ?2))`

// moveOperation writes the operation's row under its new id and version. The
// row of an old id stays, to be refused.
func moveOperation(ctx context.Context, q runner, r Rekey, identity string, from operationRow, now time.Time) error {
	if r.To != r.Operation {
		known, err := knownOperation(ctx, q, r.To)
		switch {
		case errors.Is(err, sql.ErrNoRows):
		case err != nil:
			return err
		case known.contract != "": // its own processes have begun; they keep their contract
			if known.identity != identity {
				return fmt.Errorf("%w: the store keeps %q by %q, and the moved records would be by %q", ErrRekey, r.To, known.identity, identity)
			}
			from.horizon = upkeep.MergedHorizon(from.horizon, known.horizon, []byte(from.contract), []byte(known.contract), now)
			from.contract = known.contract
		}
		_, err = q.exec(ctx, `UPDATE refrain_operation SET identity = ?, contract = '', horizon = NULL WHERE operation = ?`,
			movedTo+r.To, r.Operation)
		if err != nil {
			return err
		}
	}
	published, err := upkeep.Republished(from.contract, r.To, identity)
	if err != nil {
		return err
	}
	_, err = q.exec(ctx, `INSERT INTO refrain_operation (operation, identity, contract, horizon) VALUES (?, ?, ?, ?)
		ON CONFLICT (operation) DO UPDATE SET identity = excluded.identity, contract = excluded.contract, horizon = excluded.horizon`,
		r.To, identity, published, micros(from.horizon))
	return err
}
