package mysql

import (
	"context"
	"database/sql"
	"strings"
	"sync/atomic"
	"time"

	"github.com/refrain-dev/refrain/record"
)

// DB is the engine on one database of a MySQL or MariaDB server. It is safe for
// concurrent use.
type DB struct {
	opts     Options
	pool     *sql.DB
	marker   string
	texts    map[kind]*texts
	owned    bool // the pool is ours: guarded connections, ours to close
	driver   record.Driver
	familiar familiar
	noLock   atomic.Bool // GET_LOCK is of no use here
	late     late
	closed   atomic.Bool
	server   atomic.Pointer[string] // its version, once somebody asked
	home     atomic.Pointer[string] // which database it is, once somebody joined

	// Tests set these: beforeCommit before each COMMIT that makes an effect
	// durable, parked between the writes and the commit of Reap.
	beforeCommit func() error
	parked       func()
}

// vendor reports whether the server is a MariaDB.
func (db *DB) vendor(ctx context.Context, q runner) (maria bool, err error) {
	version := db.server.Load()
	if version == nil {
		version = new(string)
		if err := q.QueryRowContext(ctx, `SELECT VERSION() LIMIT 1`).Scan(version); err != nil {
			return false, err
		}
		db.server.Store(version)
	}
	return strings.Contains(*version, "MariaDB"), nil
}

// Load is the lookup of [record.Store], outside any transaction.
func (db *DB) Load(ctx context.Context, id record.Identity) (record.Seen, time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, db.opts.Busy) // also for a connection: the pool may be in use
	defer cancel()
	if db.closed.Load() {
		return record.Seen{}, time.Time{}, errClosed
	}
	hash := id.Hash()
	found, err := lookup(ctx, inlined{db.pool}, id, hash)
	if err == nil && (found.loose || found.pinned) {
		err = db.reading(ctx, func(ctx context.Context, q runner) (err error) {
			if found, err = lookup(ctx, q, id, hash); err == nil {
				found, err = db.steady(ctx, q, found, func() (seen, error) { return lookup(ctx, q, id, hash) })
			}
			return err
		})
	}
	return found.Seen, db.now(found.now), migrated(err)
}

// Close waits for COMMITs under way, at most until ctx ends, and closes what
// Open opened. Calls that come later are row 9.
func (db *DB) Close(ctx context.Context) error {
	db.closed.Store(true)
	err := db.late.wait(ctx)
	if db.owned {
		// It reports a farewell that could not be sent, and nothing depends on one: the
		// connection is closed either way. (The driver's errors for it are unexported.)
		_ = db.pool.Close()
	}
	return err
}
