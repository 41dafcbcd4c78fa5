package mysql

import (
	"context"
	"errors"
	"time"
)

var errPinned = errors.New("mysql: the session's timestamp was set, and the server's clock is not to be had")

// now is the store's time: the injected clock, or what the server said.
func (db *DB) now(server time.Time) time.Time {
	if db.opts.Now != nil {
		return db.opts.Now()
	}
	return server
}

// clock asks for the store's time on a connection of its own use.
func (db *DB) clock(ctx context.Context, q runner) (time.Time, error) {
	if db.opts.Now != nil {
		return db.opts.Now(), nil
	}
	for pinned := false; ; {
		r, err := scanAny(q.QueryRowContext(ctx, `SELECT `+nowSQL+`, `+pinnedSQL+` LIMIT 1`), 2)
		switch {
		case err != nil:
			return time.Time{}, err
		case r.integer(1) == 0:
			return time.UnixMicro(r.integer(0)).UTC(), nil
		case pinned:
			return time.Time{}, errPinned
		}
		pinned = true
		if err := unpin(ctx, q); err != nil {
			return time.Time{}, err
		}
	}
}

const unpinSQL = `SET SESSION timestamp = DEFAULT`

// unpin lets a session's clock go again.
func unpin(ctx context.Context, q runner) error {
	_, err := q.ExecContext(ctx, unpinSQL)
	return err
}

// steady is the lookup with a clock that goes.
func (db *DB) steady(ctx context.Context, q runner, found seen, look func() (seen, error)) (seen, error) {
	if !found.pinned || db.opts.Now != nil {
		return found, nil
	}
	if err := unpin(ctx, q); err != nil {
		return seen{}, err
	}
	found, err := look()
	if err == nil && found.pinned {
		err = errPinned
	}
	return found, err
}
