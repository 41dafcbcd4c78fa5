package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/refrain-dev/refrain/cmd/refrain/internal/engine"
	"github.com/refrain-dev/refrain/upkeep"
)

// database is where --db or REFRAIN_DB says, nil if neither is set.
func (m *Main) database() (engine.Place, error) {
	url, from := m.db, "--db"
	if url == "" {
		url, from = m.Getenv("REFRAIN_DB"), "REFRAIN_DB"
	}
	if url == "" {
		return nil, nil
	}
	place, err := engine.Parse(from, url)
	m.at = place
	return place, err
}

// named is where --db says, which the command cannot do without.
func (m *Main) named() (engine.Place, error) {
	place, err := m.database()
	if err == nil && place == nil {
		err = misused("add --db URL, or set REFRAIN_DB; known are: "+engine.Schemes, "no database is named")
	}
	return place, err
}

// openCurrent opens an existing database that is at this binary's version.
func openCurrent(ctx context.Context, at engine.Place, o engine.Options) (engine.Database, error) {
	db, err := at.OpenAsItIs(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := current(ctx, db, at); err != nil {
		closing(db, &err)
		return nil, err
	}
	return db, nil
}

// look opens an existing database to look at it, and says so where it is not
// opened the way services do.
func (m *Main) look(ctx context.Context, at engine.Place) (engine.Database, error) {
	db, err := at.OpenAsItIs(ctx, brief)
	if err == nil && db.Notice() != "" {
		fmt.Fprintln(m.Stderr, db.Notice())
	}
	return db, err
}

// brief are the options of a command that does one thing.
var brief = engine.Options{Brief: true}

// closing closes db and keeps the first error.
func closing(db engine.Database, err *error) {
	*err = errors.Join(*err, db.Close(context.Background()))
}

// current reports a database that is not at this binary's version.
func current(ctx context.Context, db engine.Database, at engine.Place) error {
	status, err := db.MigrationStatus(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("read %s: %w", at, err)
	case status.Version > status.Newest:
		return newer(at, status)
	case status.Version < status.Newest:
		return unusable(migrateHint(at), "%s is not migrated: version %d of %d", at, status.Version, status.Newest)
	}
	return nil
}

func newer(at engine.Place, status upkeep.Status) error {
	return unusable(newerHint, "%s was migrated by a newer version: %d, this binary knows %d", at, status.Version, status.Newest)
}

const newerHint = "use the refrain binary that migrated it, or a later one"

func migrateHint(at engine.Place) string { return "run: refrain migrate --db " + dbWord(at) }
