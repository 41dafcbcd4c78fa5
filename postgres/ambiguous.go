package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/refrain-dev/refrain/record"
)

// settle finds out what came of a COMMIT whose answer was lost: it asks for the
// identity, on new connections, until the old transaction has let go of it. That
// it is not found is no evidence before: the old transaction may be committing
// still, or taking over a record whose memory has ended. found is the record with
// ref, nil when that transaction was rolled back; an error means that nobody can
// tell within patience.
//
// look claims the identity in a transaction of its own, and once the lock is its
// own it looks again: the first look may have been made just before the old
// transaction ended.
func settle(ctx context.Context, look func(context.Context) (seen, error), ref string, patience time.Duration) (found *seen, err error) {
	until := time.Now().Add(patience)
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	for attempt := 0; ; attempt++ {
		now, err := look(ctx)
		switch {
		case err == nil && now.Record != nil && now.Record.Ref == ref:
			return &now, nil
		case err == nil && now.locked:
			return nil, nil
		}
		if !pause(ctx, until, attempt) {
			return nil, errors.Join(errLate, err)
		}
	}
}

// look is the one of [settle].
func (db *DB) look(c *record.Claim) func(context.Context) (seen, error) {
	return func(ctx context.Context) (seen, error) {
		s, found, err := db.begin(ctx, pgx.ReadCommitted, c)
		if err != nil {
			return seen{}, err
		}
		defer s.rollback()
		if found.locked {
			found, err = scanLookup(s.conn.QueryRow(ctx, db.sql.read, lookupArgs(c.Identity, c.Hash)...), c.Identity)
			found.locked = true
		}
		return found, err
	}
}
