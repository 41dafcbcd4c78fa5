package postgres

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

func TestKeeperNotMigrated(t *testing.T) {
	for _, driver := range []string{"pgx", "postgres", "native"} {
		k := emptyKeeper(t, driver)
		_, err := k.settle(claimOf(t, keeperCall("k")), nil)
		if _, _, loaded := k.Load(t.Context(), record.Identity{}); !errors.Is(loaded, refrain.ErrNotMigrated) || !errors.Is(migrated(err), refrain.ErrNotMigrated) {
			t.Errorf("%s: %v and %v", driver, loaded, err)
		}
		for name, err := range map[string]error{
			"register": k.Register(t.Context(), keeperContract),
			"change":   k.Change(t.Context(), record.Identity{}, nil),
		} {
			if !errors.Is(err, refrain.ErrNotMigrated) {
				t.Errorf("%s: %s: %v", driver, name, err)
			}
		}
		status, err := k.MigrationStatus(t.Context())
		if err != nil || status.Version != 0 || !errors.Is(status.Check(), refrain.ErrNotMigrated) {
			t.Errorf("%s: %+v, %v", driver, status, err)
		}
	}
}

// Processes that start at once migrate one after the other.
func TestKeeperMigrateAtOnce(t *testing.T) {
	k := emptyKeeper(t, "pgx")
	var wg sync.WaitGroup
	for range 6 {
		store := k.sibling(t)
		wg.Go(func() {
			if err := store.Migrate(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	same(t, "applied", k.number(t, `SELECT count(*) FROM {schema}.migration`), int64(len(migrations())))
	same(t, "stores", k.number(t, `SELECT count(*) FROM {schema}.store`), int64(1))
}

func TestKeeperNewerSchema(t *testing.T) {
	k := newKeeper(t, "pgx")
	k.setup(t, `INSERT INTO {schema}.migration VALUES ($1::int, 'unknown', 0)`, len(migrations())+1)
	if err := k.Migrate(t.Context()); !errors.Is(err, refrain.ErrNewerSchema) {
		t.Errorf("a newer schema: %v", err)
	}
	if status, err := k.MigrationStatus(t.Context()); err != nil || !errors.Is(status.Check(), refrain.ErrNewerSchema) {
		t.Errorf("%+v, %v", status, err)
	}
}

// Tables made by another file are not taken for this binary's.
func TestKeeperChangedMigration(t *testing.T) {
	k := newKeeper(t, "pgx")
	k.setup(t, `UPDATE {schema}.migration SET checksum = 'another' WHERE version = 1`)
	if err := k.Migrate(t.Context()); !errors.Is(err, errChecksum) || !strings.Contains(err.Error(), migrations()[0].name) {
		t.Errorf("a changed file: %v", err)
	}
	if check := checkOf(t, k, "schema"); check.OK || !strings.Contains(check.Value, "changed") {
		t.Errorf("%+v", check)
	}
}

// A migration that meets a table in use says so.
func TestKeeperMigrateWaits(t *testing.T) {
	k := newKeeper(t, "pgx")
	tx, err := k.db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	if _, err := tx.Exec(k.sql.text(`LOCK TABLE {schema}.record IN ACCESS SHARE MODE`)); err != nil {
		t.Fatal(err)
	}
	err = k.write(t.Context(), func(ctx context.Context, run runner) error {
		if err := patience(ctx, run, "50ms"); err != nil {
			return err
		}
		return k.applyMigration(ctx, run, migration{2, "002_test.sql", `ALTER TABLE {schema}.record ADD COLUMN more int`, "sum"})
	})
	if !errors.Is(err, errBusy) || !strings.Contains(err.Error(), "002_test.sql") || !strings.Contains(err.Error(), "in use") {
		t.Errorf("behind a reader: %v", err)
	}
}

// Schema prints what Migrate runs.
func TestKeeperSchema(t *testing.T) {
	k := emptyKeeper(t, "pgx")
	if _, err := k.db.Exec(Schema(k.opts.Schema)); err != nil {
		t.Fatal(err)
	}
	status, err := k.applied(t.Context(), k.read)
	if err != nil || status.Check() != nil {
		t.Errorf("%+v, %v", status, err)
	}
	if err := k.Migrate(t.Context()); err != nil {
		t.Error(err)
	}
	k.mustSettle(t, keeperCall("k"))
}

// In a schema that exists an owner without rights on the database migrates, and
// an engine with Grants alone does all but that.
func TestKeeperLeastPrivileges(t *testing.T) {
	now := noon
	k := emptyKeeper(t, "pgx", at(&now))
	owner, engine := k.role(t), k.role(t)
	k.setup(t, `CREATE SCHEMA {schema} AUTHORIZATION `+owner.name)
	if err := owner.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if check := checkOf(t, engine.keeper, "privileges"); check.OK || !check.Vital {
		t.Errorf("without rights: %+v", check)
	}
	if _, _, err := engine.Load(t.Context(), record.Identity{}); sqlState(err) != "42501" || errors.Is(err, refrain.ErrNotMigrated) {
		t.Errorf("without rights: %v", err)
	}
	if _, err := owner.db.Exec(Grants(k.opts.Schema, engine.name)); err != nil {
		t.Fatal(err)
	}
	if check := checkOf(t, engine.keeper, "privileges"); !check.OK {
		t.Errorf("with them: %+v", check)
	}
	if err := engine.Register(t.Context(), keeperContract); err != nil {
		t.Error(err)
	}
	whole := openShop(t, engine.url, k.opts)
	for range 2 {
		if err := whole.run(keeperCall("executed"), func(context.Context, Tx) (refrain.Result, error) { return done, nil }); err != nil {
			t.Error(err)
		}
	}
	if _, err := engine.db.Exec(barrierText); err != nil {
		t.Errorf("a barrier: %v", err)
	}
	rec := engine.mustSettle(t, keeperCall("k"))
	if _, err := engine.Find(t.Context(), rec.Ref); err != nil {
		t.Error(err)
	}
	open := engine.open(t, "open")
	if err := engine.Change(t.Context(), open.Identity, func(seen record.Seen, _ time.Time) (record.Edit, error) {
		return record.Edit{Remove: true, Review: claimOf(t, keeperCall("open")), GrantAllow: "asked", By: "ops"}, nil
	}); err != nil {
		t.Error(err)
	}
	engine.mustSettle(t, keeperCall("open")) // spends the allow
	now = now.Add(3 * time.Hour)
	if n, err := engine.Reap(t.Context(), upkeep.Reap{}); n.Forgotten != 3 || err != nil {
		t.Errorf("%+v, %v", n, err)
	}
	if _, err := engine.Rekey(t.Context(), europe); err != nil {
		t.Error(err)
	}
	if err := engine.Migrate(t.Context()); err != nil { // there is nothing to do
		t.Error(err)
	}
	if _, err := engine.db.Exec(k.sql.text(`DELETE FROM {schema}.audit`)); sqlState(err) != "42501" {
		t.Errorf("the engine removes what operators did: %v", err)
	}
	if _, err := owner.db.Exec(k.sql.text(`REVOKE DELETE ON {schema}.record FROM ` + engine.name)); err != nil {
		t.Fatal(err)
	}
	if check := checkOf(t, engine.keeper, "privileges"); check.OK || check.Value != "missing: DELETE on record" {
		t.Errorf("%+v", check)
	}
}

func checkOf(t testing.TB, k *keeper, setting string) upkeep.Check {
	t.Helper()
	checks, err := k.Doctor(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(checks, func(c upkeep.Check) bool { return c.Setting == setting })
	if i < 0 {
		t.Fatalf("no check of %s in %+v", setting, checks)
	}
	return checks[i]
}
