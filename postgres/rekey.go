package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

// movedTo begins the identity version of an operation whose records were moved
// to another id. No contract has it, so its old processes execute nothing.
const movedTo = "moved to "

// rekeyLock is how long a rekey waits for the transactions that have written
// records; everybody who wants to write one waits behind it.
const rekeyLock = "5s"

// lockAllText lets everybody read and nobody write a record. A record's INSERT
// that waited for it sees the operation's new identity version and fails.
const lockAllText = `LOCK TABLE {schema}.record IN SHARE ROW EXCLUSIVE MODE`

// Rekey rewrites the identity of every record of an operation and of what
// stands beside them: its horizon, fences, allows and reviews. All of it is one
// transaction, so a crash leaves the old or the new identities; meanwhile whoever
// writes a record waits. It gives up with nothing changed when transactions that
// have written records do not end within 5 s. Afterwards a process with the old
// contract is [refrain.ErrContractChanged].
//
// It refuses with a [upkeep.RekeyError], with [record.ErrNotFound] for an
// operation the store does not know, and with [upkeep.ErrRekey] for identities
// that make no contract. Its memory is about 300 bytes per record.
func (s *Store) Rekey(ctx context.Context, r upkeep.Rekey) (done upkeep.Rekeyed, err error) {
	if r, err = r.Checked(); err != nil {
		return upkeep.Rekeyed{}, err
	}
	err = s.write(ctx, func(ctx context.Context, tx runner) error {
		done, err = s.rekey(ctx, tx, r)
		return err
	})
	if err != nil {
		return upkeep.Rekeyed{}, migrated(err)
	}
	return done, nil
}

func (s *Store) rekey(ctx context.Context, tx runner, r upkeep.Rekey) (upkeep.Rekeyed, error) {
	done := upkeep.Rekeyed{Operation: r.To}
	if err := patience(ctx, tx, rekeyLock); err != nil {
		return done, err
	}
	if _, err := tx.exec(ctx, s.sql.text(lockAllText)); err != nil {
		return done, waited(err, "transactions that have written records", rekeyLock)
	}
	from, err := s.operation(ctx, tx, r.Operation, "FOR UPDATE")
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return done, fmt.Errorf("%w: the store does not know the operation %q", record.ErrNotFound, r.Operation)
	case err != nil:
		return done, err
	case from.contract == "":
		return done, fmt.Errorf("%w: the records of %q were %s", record.ErrNotFound, r.Operation, from.identity)
	}
	now, err := s.clock(ctx, tx)
	if err != nil {
		return done, err
	}
	to := upkeep.NewMove(r, from.identity)
	moves, err := s.plan(ctx, tx, r, to, now)
	if err != nil {
		return done, err
	}
	// All that names the operation moves, and all of it must fit the new identity.
	if done.Records, err = s.moveRecords(ctx, tx, moves, r.To); err != nil {
		return done, err
	}
	if done.Reviews, err = s.moveBeside(ctx, tx, r, to, "review", moveReviewText); err != nil {
		return done, err
	}
	if done.Allows, err = s.moveBeside(ctx, tx, r, to, "allow", moveAllowText); err != nil {
		return done, err
	}
	if _, err := tx.exec(ctx, s.sql.text(overtakenText), r.To, now.UnixMicro()); err != nil {
		return done, err
	}
	if done.Identity, err = to.Version(); err != nil {
		return done, err
	}
	if done.Fences, err = s.moveFences(ctx, tx, r, to); err != nil {
		return done, err
	}
	if err := s.moveOperation(ctx, tx, r, done.Identity, from, now); err != nil {
		return done, err
	}
	return done, s.audit(ctx, tx, now, r.By, "rekey", "", r.Reason,
		fmt.Sprintf("%s by %s to %s by %s: %d records", r.Operation, from.identity, r.To, done.Identity, done.Records))
}

const (
	leaveText  = `UPDATE {schema}.operation SET identity = $2::text, contract = '', horizon = NULL WHERE operation = $1::text`
	settleText = `INSERT INTO {schema}.operation (operation, identity, contract, horizon) VALUES ($1::text, $2::text, $3::text, $4::int8)
ON CONFLICT (operation) DO UPDATE SET identity = excluded.identity, contract = excluded.contract, horizon = excluded.horizon`
)

// overtakenText removes allows that came to stand beside a record: they would let it
// run once more when its memory ends.
const overtakenText = `DELETE FROM {schema}.allow a USING {schema}.record r WHERE a.operation = $1::text AND r.hash = a.hash
 AND (r.remember_until IS NULL OR r.disputed OR r.remember_until > $2::int8)`

// moveOperation writes the operation's row under its new id and version. The
// row of an old id stays, to be refused.
func (s *Store) moveOperation(ctx context.Context, tx runner, r upkeep.Rekey, identity string, from operationRow, now time.Time) error {
	if r.To != r.Operation {
		known, err := s.operation(ctx, tx, r.To, "FOR UPDATE")
		switch {
		case errors.Is(err, sql.ErrNoRows):
		case err != nil:
			return err
		case known.contract != "": // its own processes have begun; they keep their contract
			if known.identity != identity {
				return fmt.Errorf("%w: the store keeps %q by %q, and the moved records would be by %q", upkeep.ErrRekey, r.To, known.identity, identity)
			}
			from.horizon = upkeep.MergedHorizon(from.horizon, known.horizon, []byte(from.contract), []byte(known.contract), now)
			from.contract = known.contract
		}
		if _, err := tx.exec(ctx, s.sql.text(leaveText), r.Operation, movedTo+r.To); err != nil {
			return err
		}
	}
	published, err := upkeep.Republished(from.contract, r.To, identity)
	if err != nil {
		return err
	}
	_, err = tx.exec(ctx, s.sql.text(settleText), r.To, identity, published, micros(from.horizon))
	return err
}
