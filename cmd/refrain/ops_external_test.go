package main

import (
	"context"
	stdsql "database/sql"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/cmd/refrain/internal/engine"
	"github.com/refrain-dev/refrain/cmd/refrain/internal/enginetest"
	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"
)

// addsFor accepts an operation of a provider, due at now, and parks it with reason
// where there is one.
func addsFor(t *testing.T, db engine.Database, provider, reason string) string {
	t.Helper()
	ctx, ref := t.Context(), record.NewRef(time.Now())
	err := db.Update(ctx, func(ctx context.Context, tx refrain.SQLTx) error {
		return db.Operations().Add(ctx, tx, operation.Operation{Ref: ref, Step: "wave", Provider: provider})
	})
	if err != nil {
		t.Fatal(err)
	}
	if reason == "" {
		return ref
	}
	err = db.Operations().Change(ctx, ref, func(_ context.Context, _ refrain.SQLTx, seen operation.Seen) (operation.Edit, error) {
		seen.Operation.Due, seen.Operation.Why = time.Time{}, reason
		return operation.Edit{Put: &seen.Operation}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

func opened(t *testing.T, url string, now func() time.Time) engine.Database {
	t.Helper()
	db, err := enginetest.Place(t, url).Open(t.Context(), engine.Options{Now: now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return db
}

// TestOverdueProvider: operations that nobody carries out do not wait in silence.
func TestOverdueProvider(t *testing.T) {
	enginetest.Each(t, enginetest.Engines, func(t *testing.T, url string) {
		before := opened(t, url, func() time.Time { return time.Now().Add(-time.Hour) })
		addsFor(t, before, "pigeon", "")
		addsFor(t, before, "parked", "look at me")
		addsFor(t, opened(t, url, nil), "mail", "")
		exit, stdout, stderr := runMain(t, nil, "ops", "external", "--db", url)
		if exit != exitOK || !strings.HasPrefix(stdout, "overdue at pigeon  for 1h0m") || strings.Count(stdout, "overdue") != 1 || !strings.Contains(stdout, "look at me") {
			t.Errorf("exit %d, %s%s", exit, stdout, stderr)
		}
		_, stdout, _ = runMain(t, nil, "ops", "external", "--db", url, "--json")
		if !strings.HasPrefix(stdout, "[\n  {\n    \"provider\": \"pigeon\",\n    \"state\": \"overdue\",") {
			t.Error(stdout)
		}
	})
}

// TestOpsExternalBesideUnreadable: what cannot be read is an error after the rest.
func TestOpsExternalBesideUnreadable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shop.db")
	db := opened(t, "sqlite:"+path, nil)
	broken, sound := addsFor(t, db, "mail", "first"), addsFor(t, db, "mail", "second")
	raw, err := stdsql.Open("sqlite3", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = raw.Close() })
	if _, err := raw.Exec(`UPDATE refrain_external SET data = 'x' WHERE ref = ?`, broken); err != nil {
		t.Fatal(err)
	}
	for _, flags := range [][]string{nil, {"--json"}} {
		exit, stdout, stderr := runMain(t, nil, append([]string{"ops", "external", "--db", "sqlite:" + path}, flags...)...)
		if exit != exitDiffers || !strings.Contains(stdout, sound) || !strings.Contains(stderr, broken) {
			t.Errorf("exit %d, %s%s", exit, stdout, stderr)
		}
	}
}
