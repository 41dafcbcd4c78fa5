package main

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/refrain-dev/refrain/cmd/refrain/internal/engine"
	"github.com/refrain-dev/refrain/upkeep"
)

// halfWay is a database whose migration another process is about to complete.
type halfWay struct {
	engine.Database
	asked int
}

func (h *halfWay) MigrationStatus(ctx context.Context) (upkeep.Status, error) {
	status, err := h.Database.MigrationStatus(ctx)
	if h.asked++; h.asked <= 3 {
		status.Version = 1
	}
	return status, err
}

// TestMigrationHalfWay is waited for by a demo, and by nobody else.
func TestMigrationHalfWay(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	at := engine.File(filepath.Join(t.TempDir(), "demo.db"))
	db, err := at.Open(ctx, brief)
	if err != nil {
		t.Fatal(err)
	}
	defer closing(db, &err)
	if err := db.Migrate(ctx); err != nil {
		t.Fatal(err)
	}
	if err := current(ctx, &halfWay{Database: db}, at); err == nil {
		t.Error("a migration half way is taken for a whole one")
	}
	if err := becomesCurrent(ctx, &halfWay{Database: db}, at); err != nil {
		t.Error(err)
	}
}
