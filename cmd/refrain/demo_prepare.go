package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/refrain-dev/refrain/cmd/refrain/internal/engine"
)

// demoable refuses somebody else's database before it is opened as services do,
// which may change it: a SQLite file's journal.
func demoable(ctx context.Context, at engine.Place) (err error) {
	db, err := at.OpenAsItIs(ctx, brief)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer closing(db, &err)
	if empty, err := db.Empty(ctx); err != nil || empty {
		return err
	}
	return becomesCurrent(ctx, db, at)
}

// prepare migrates an empty database and says so; any other must be current.
// Whether it is empty is asked first: another demo may migrate it meanwhile.
func (m *Main) prepare(ctx context.Context, db engine.Database, at engine.Place) error {
	empty, err := db.Empty(ctx)
	if err != nil {
		return fmt.Errorf("read %s: %w", at, err)
	}
	if empty {
		if err := db.Migrate(ctx); err != nil {
			return err
		}
		fmt.Fprintf(m.Stderr, "migrated the empty database %s\n", at)
	}
	return becomesCurrent(ctx, db, at)
}

// migrateWithin is how long another process may take between two versions.
const migrateWithin = 5 * time.Second

// becomesCurrent is current, but that it waits for a migration which is half way:
// another demo may have begun it, and each version commits for itself.
func becomesCurrent(ctx context.Context, db engine.Database, at engine.Place) error {
	look, late := time.NewTicker(20*time.Millisecond), time.After(migrateWithin)
	defer look.Stop()
	for {
		status, err := db.MigrationStatus(ctx)
		if halfWay := err == nil && status.Version > 0 && status.Version < status.Newest; !halfWay {
			return current(ctx, db, at)
		}
		select {
		case <-look.C:
		case <-late:
			return current(ctx, db, at)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
