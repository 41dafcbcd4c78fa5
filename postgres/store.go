package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

var _ interface{ upkeep.Keeper } = (*DB)(nil)

// Store is the database as both engines see it: lookups, changes and upkeep.
// [DB] and [SQL] are made of it.
type Store struct {
	opts Options
	sql  queries // with the schema's name put in

	// read runs one statement in no transaction.
	read runner
	// write runs work in one READ COMMITTED transaction and commits it. work runs
	// again after a serialization failure, a deadlock or a lost race on our own
	// key (errRace). A COMMIT whose answer is lost, or that no synchronous
	// standby has confirmed, is an error.
	write func(ctx context.Context, work func(ctx context.Context, tx runner) error) error
	// acknowledge returns once the final record that was seen is known to be where
	// its COMMIT had to bring it; nil is for engines that know it otherwise.
	acknowledge func(ctx context.Context, found seen) error

	notices bool   // the engine hears a COMMIT's notices
	pool    int    // most connections the engine holds; 0 where it does not know
	parked  func() // storetest's, between what Reap writes and its COMMIT
}

// Load is the lookup of [record.Store], in no transaction.
func (s *Store) Load(ctx context.Context, id record.Identity) (record.Seen, time.Time, error) {
	soon, cancel := s.opts.soon(ctx)
	defer cancel()
	found, err := scanLookup(s.read.row(soon, s.sql.read, lookupArgs(id, id.Hash())...), id)
	if err = unheard(soon, err); err == nil {
		err = s.acknowledged(ctx, found)
	}
	if err != nil {
		return record.Seen{}, time.Time{}, migrated(err)
	}
	return found.Seen, s.time(found.now), nil
}

// glance is the driver's: the record alone, in no transaction. One that does not
// tell its identity version is left to whoever looks at everything.
func (s *Store) glance(ctx context.Context, id record.Identity) (record.Seen, time.Time, error) {
	soon, cancel := s.opts.soon(ctx)
	defer cancel()
	found, err := scanGlance(s.read.row(soon, s.sql.glance, hashText(id.Hash())), id)
	if err = unheard(soon, err); err == nil {
		err = s.acknowledged(ctx, found)
	}
	if err != nil {
		return record.Seen{}, time.Time{}, migrated(err)
	}
	if found.IdentityVersion == "" {
		found.Record = nil
	}
	return found.Seen, s.time(found.now), nil
}

// Find returns the record with ref, or [record.ErrNotFound].
func (s *Store) Find(ctx context.Context, ref string) (record.Record, error) {
	rec, _, err := s.find(ctx, ref)
	return rec, err
}

func (s *Store) find(ctx context.Context, ref string) (record.Record, time.Time, error) {
	if !record.ValidRef(ref) {
		return record.Record{}, time.Time{}, record.ErrNotFound
	}
	soon, cancel := s.opts.soon(ctx)
	defer cancel()
	found, err := scanFind(s.read.row(soon, s.sql.find, packRef(ref)))
	if err = unheard(soon, err); err == nil {
		err = s.acknowledged(ctx, found)
	}
	if err != nil {
		return record.Record{}, time.Time{}, migrated(err)
	}
	return *found.Record, s.time(found.now), nil
}

func (s *Store) acknowledged(ctx context.Context, found seen) error {
	if s.acknowledge == nil || found.Record == nil || !found.Record.State.Final() {
		return nil
	}
	return s.acknowledge(ctx, found)
}

// time is the store's: the server's clock unless the options replace it.
func (s *Store) time(server int64) time.Time {
	if s.opts.Now != nil {
		return s.opts.Now()
	}
	return time.UnixMicro(server).UTC()
}

// clock reads the store's time.
func (s *Store) clock(ctx context.Context, q runner) (time.Time, error) {
	var server int64
	err := q.row(ctx, `SELECT `+clock).Scan(&server)
	return s.time(server), err
}

// one demands that exactly one row was changed; otherwise wrong.
func one(n int64, err, wrong error) error {
	if err == nil && n != 1 {
		err = fmt.Errorf("%w: %d rows instead of one", wrong, n)
	}
	return err
}

// each reads all rows of a query.
func each(ctx context.Context, q runner, scan func(scanner) error, query string, args ...any) error {
	rows, err := q.rows(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
