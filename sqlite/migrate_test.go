package sqlite

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

func open(t testing.TB, path string, options ...Options) *DB {
	t.Helper()
	db, err := Open(path, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return db
}

// schemaOf is everything in sqlite_master.
func schemaOf(t *testing.T, db *DB) []string {
	t.Helper()
	all, err := texts(t.Context(), db.Reader(), `SELECT coalesce(sql, name) FROM sqlite_master ORDER BY name`)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestNotMigrated(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "shop.db"))
	runs := 0
	err := run(db, call("k"), counted(&runs, put("k")))
	wantRow(t, err, "9", refrain.ErrNotMigrated)
	equal(t, "runs", runs, 0)
	id := refrain.Identity{Scope: "tenant=north", Operation: "orders.create", Key: "k"}
	_, _, loadErr := db.Load(t.Context(), id)
	_, findErr := db.Find(t.Context(), "op_00000000000000000000000000000")
	_, listErr := db.List(t.Context(), record.Record{}, 1)
	_, reapErr := db.Reap(t.Context(), upkeep.Reap{})
	_, walkErr := db.Walk(t.Context(), "", 1)
	_, onceErr := db.Onces(t.Context(), upkeep.OnceQuery{})
	_, storeErr := db.Incarnation(t.Context())
	_, horizonErr := db.Horizon(t.Context(), "orders.create")
	for what, err := range map[string]error{"Load": loadErr, "List": listErr, "Reap": reapErr, "Walk": walkErr, "Onces": onceErr, "Incarnation": storeErr,
		"Horizon": horizonErr, "Register": db.Register(t.Context(), contract)} {
		if !errors.Is(err, refrain.ErrNotMigrated) {
			t.Errorf("%s: %v, want ErrNotMigrated", what, err)
		}
	}
	if findErr == nil {
		t.Error("Find: no error")
	}
	if len(schemaOf(t, db)) != 0 {
		t.Error("something created tables")
	}
}

func TestNewerSchema(t *testing.T) {
	db := openShop(t)
	if err := db.Setup(t.Context(), `INSERT INTO refrain_schema (version, checksum, at) VALUES (1000, 'x', 0)`); err != nil {
		t.Fatal(err)
	}
	before := schemaOf(t, db)
	if err := db.Migrate(t.Context()); !errors.Is(err, refrain.ErrNewerSchema) {
		t.Errorf("Migrate: %v, want ErrNewerSchema", err)
	}
	if !slices.Equal(before, schemaOf(t, db)) {
		t.Error("Migrate changed a newer schema")
	}
}

func TestMigrateConcurrently(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shop.db")
	var wg sync.WaitGroup
	for range 4 {
		db := open(t, path)
		for range 2 {
			wg.Go(func() {
				if err := db.Migrate(context.Background()); err != nil {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
	db := open(t, path)
	status, err := db.MigrationStatus(t.Context())
	if err != nil || status.Version != status.Newest {
		t.Errorf("%+v, %v", status, err)
	}
	var rows int
	if err := db.Reader().QueryRow(`SELECT count(*) FROM refrain_schema`).Scan(&rows); err != nil || rows != status.Newest {
		t.Errorf("%d versions stored, %v", rows, err)
	}
}

// The printed schema, run by hand, is what Migrate makes.
func TestSchemaByHand(t *testing.T) {
	migrated := open(t, filepath.Join(t.TempDir(), "migrated.db"))
	if err := migrated.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "by-hand.db")
	byHand := open(t, path)
	if _, err := plain(t, path, "busy_timeout(5000)").Exec(Schema()); err != nil {
		t.Fatal(err)
	}
	equal(t, "schema", schemaOf(t, byHand), schemaOf(t, migrated))
	const versions = `SELECT version || ' ' || checksum FROM refrain_schema`
	a, errA := texts(t.Context(), byHand.Reader(), versions)
	b, errB := texts(t.Context(), migrated.Reader(), versions)
	if err := errors.Join(errA, errB); err != nil {
		t.Fatal(err)
	}
	equal(t, "versions", a, b)
	if err := byHand.Migrate(t.Context()); err != nil {
		t.Error(err)
	}
	createOrders(t, byHand)
	wantUsable(t, byHand)
}
