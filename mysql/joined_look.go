package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/refrain-dev/refrain/record"
)

// look is the lookup in the caller's transaction, whose view may be older than
// what others have committed, or see what they have not. What it says of the
// record and of the operation is taken from locking reads, which see what stands
// and stays. None of it waits.
func (j *joined) look(ctx context.Context) (found seen, err error) {
	c := j.claim
	at := hasty{j.q, j.maria}
	found, err = lookup(ctx, at, c.Identity, c.Hash)
	if err == nil && found.Record != nil {
		err = j.certain(ctx, &found)
	}
	switch {
	case isLocked(err):
		return seen{Seen: record.Seen{Held: true}, now: time.Now()}, nil
	case err != nil:
		return seen{}, err
	case found.pinned && j.db.opts.Now == nil:
		return seen{}, errPinned // it is the caller's session, and not ours to change
	}
	found.Held = j.held && found.Record == nil
	if found.Held || !found.known { // an operation that may have come since is looked at when it is learnt
		return found, nil
	}
	return found, j.beyond(ctx, &found)
}

// certain reads a record that was found once more: it may not be committed, or
// not be there any more.
func (j *joined) certain(ctx context.Context, found *seen) error {
	rec, err := decode(j.q.QueryRowContext(ctx, recordSQL+` `+noWait(j.maria), j.claim.Hash[:]), true)
	found.Record = nil
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err == nil && rec.Identity == j.claim.Identity {
		found.Record = &rec
	}
	return err
}

const recordSQL = `SELECT ` + columns + `, r.body FROM refrain_record r WHERE r.hash = ? LIMIT 1`

// beyond reads what stands beyond the record: a reaper that removed it since this
// transaction's view has raised the horizon, and now cannot until its end.
func (j *joined) beyond(ctx context.Context, found *seen) error {
	operation := []byte(j.claim.Identity.Operation)
	r, err := scanAny(j.q.QueryRowContext(ctx, `SELECT identity, horizon FROM refrain_operation WHERE operation = ? LIMIT 1 `+noWait(j.maria), operation), 2)
	switch {
	case isLocked(err):
		return fmt.Errorf("%w: %w", errOperationHeld, err)
	case errors.Is(err, sql.ErrNoRows):
		found.known, found.IdentityVersion, found.Horizon = false, "", time.Time{}
	case err != nil:
		return err
	default:
		found.known, found.IdentityVersion, found.Horizon = true, r.text(0), r.instant(1)
	}
	return nil
}
