package postgres

import (
	"context"
	"strings"
)

// claim looks at the identity and takes its lock, in a transaction that may be
// anybody's.
func (j *joining) claim(ctx context.Context) (seen, error) {
	var database string
	row := j.run.row(ctx, databaseAhead+strings.TrimPrefix(j.db.sql.lookup, "SELECT "), lookupArgs(j.c.Identity, j.c.Hash)...)
	found, err := scanLookup(behind{row, &database}, j.c.Identity)
	if err != nil {
		return found, migrated(err)
	}
	found.Held = !found.locked
	return found, j.sameDatabase(ctx, found.postmaster+" "+database)
}

const databaseAhead = `SELECT current_database()::text, `

// behind scans what stands behind a first column.
type behind struct {
	scanner
	first *string
}

func (b behind) Scan(dest ...any) error { return b.scanner.Scan(append([]any{b.first}, dest...)...) }

// sameDatabase refuses a transaction of another database: its tables, of the same
// names, would take the record. here is the server's run and the database's name;
// each new one is asked about once. While the handle has no connection to spare
// nothing is asked: the caller may hold the only one.
func (j *joining) sameDatabase(ctx context.Context, here string) error {
	if known := j.db.home.Load(); known != nil && *known == here {
		return nil
	}
	if stats := j.db.handle.Stats(); stats.MaxOpenConnections > 0 && stats.InUse >= stats.MaxOpenConnections {
		return nil
	}
	ours, err := j.db.place(ctx, j.db.read)
	if err != nil {
		return err
	}
	theirs, err := j.db.place(ctx, j.run)
	if err != nil {
		return err
	}
	if !ours.same(theirs) {
		return ErrOtherDatabase
	}
	j.db.home.Store(&here)
	return nil
}

// place is what tells a database from its copies: the store's id from databases
// that were migrated apart, the name from a copy beside it, the system's
// identifier from a copy restored elsewhere. A standby has its primary's.
type place struct{ store, database, system string }

// same leaves the system out where either role may not read it.
func (p place) same(other place) bool {
	if p.system == "" || other.system == "" {
		p.system, other.system = "", ""
	}
	return p == other
}

func (s *Store) place(ctx context.Context, run runner) (p place, err error) {
	var told bool
	err = run.row(ctx, s.sql.text(placeText)).Scan(&p.store, &p.database, &told)
	if err == nil && told {
		err = run.row(ctx, systemText).Scan(&p.system)
	}
	return p, migrated(err)
}

const (
	placeText = `SELECT id::text, current_database()::text, has_function_privilege('pg_control_system()', 'EXECUTE') FROM {schema}.store`
	// systemText is asked apart: who may not run it could not run placeText either.
	systemText = `SELECT system_identifier::text FROM pg_control_system()`
)
