package mysql

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
)

const versions = `SELECT CONCAT(version, ' ', checksum) FROM refrain_migration ORDER BY version`

// tables are the statements that would make what is in the database.
func tables(t *testing.T, pool *sql.DB) []string {
	t.Helper()
	var all []string
	for _, name := range column(t, pool, `SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() ORDER BY table_name`) {
		var made string
		if err := pool.QueryRow("SHOW CREATE TABLE "+name).Scan(&name, &made); err != nil {
			t.Fatal(err)
		}
		all = append(all, made)
	}
	return all
}

func migrateNow(t testing.TB, pool *sql.DB) {
	t.Helper()
	if err := migrate(t.Context(), pool, tablePatience); err != nil {
		t.Fatal(err)
	}
}

func wantStatus(t *testing.T, pool *sql.DB, want Status) {
	t.Helper()
	if status, err := migrationStatus(t.Context(), pool); err != nil || status != want {
		t.Errorf("status %+v, %v; want %+v", status, err, want)
	}
}

func TestMigrateTwice(t *testing.T) {
	pool := poolOf(t, database(t))
	wantStatus(t, pool, Status{Newest: len(migrations())})
	migrateNow(t, pool)
	wantStatus(t, pool, Status{Version: len(migrations()), Newest: len(migrations())})
	made, store := tables(t, pool), column(t, pool, `SELECT HEX(id) FROM refrain_store`)
	migrateNow(t, pool)
	if !slices.Equal(tables(t, pool), made) || !slices.Equal(column(t, pool, `SELECT HEX(id) FROM refrain_store`), store) {
		t.Error("the second run changed something")
	}
	if n := len(column(t, pool, versions)); n != len(migrations()) {
		t.Errorf("%d versions stored", n)
	}
	if len(store) != 1 || len(store[0]) != 32 {
		t.Errorf("store %q", store)
	}
}

func TestMigrateConcurrently(t *testing.T) {
	cfg := database(t)
	var wg sync.WaitGroup
	for range 3 {
		pool := poolOf(t, cfg)
		for range 2 {
			wg.Go(func() {
				if err := migrate(context.Background(), pool, tablePatience); err != nil {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
	wantStatus(t, poolOf(t, cfg), Status{Version: len(migrations()), Newest: len(migrations())})
}

// Who waits for another start leaves with its context, and runs no statement.
func TestMigrateWaitsForItsTurn(t *testing.T) {
	pool := poolOf(t, database(t))
	busy, err := pool.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	if err := lockMigration(t.Context(), busy, time.Second); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := migrate(ctx, pool, tablePatience); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Migrate: %v, want DeadlineExceeded", err)
	}
	if made := tables(t, pool); len(made) != 0 {
		t.Errorf("made %q", made)
	}
	if err := lockMigration(t.Context(), mustConn(t, pool), time.Second); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Errorf("a second lock: %v", err)
	}
}

func mustConn(t *testing.T, pool *sql.DB) *sql.Conn {
	t.Helper()
	conn, err := pool.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// DDL commits by itself: wherever a crash ended the first run, the second one
// makes the whole.
func TestMigrateAfterACrash(t *testing.T) {
	whole := poolOf(t, database(t))
	migrateNow(t, whole)
	statements := splitSQL(migrations()[0].sql)
	for done := range len(statements) + 1 {
		pool := poolOf(t, database(t))
		must(t, pool, statements[:done]...)
		store := []string{}
		if slices.ContainsFunc(statements[:done], func(s string) bool { return strings.Contains(s, "INSERT") }) {
			store = column(t, pool, `SELECT HEX(id) FROM refrain_store`)
		}
		wantStatus(t, pool, Status{Newest: len(migrations())})
		migrateNow(t, pool)
		if !slices.Equal(tables(t, pool), tables(t, whole)) || !slices.Equal(column(t, pool, versions), column(t, whole, versions)) {
			t.Errorf("after %d statements the schema is another one", done)
		}
		if after := column(t, pool, `SELECT HEX(id) FROM refrain_store`); len(store) > 0 && !slices.Equal(store, after) {
			t.Errorf("after %d statements the store became another one", done)
		}
	}
}

func TestMigrateNewerSchema(t *testing.T) {
	pool := poolOf(t, database(t))
	migrateNow(t, pool)
	must(t, pool, `INSERT INTO refrain_migration VALUES (1000, 'x', 0)`, `DROP TABLE refrain_later`)
	before := tables(t, pool)
	if err := migrate(t.Context(), pool, tablePatience); !errors.Is(err, refrain.ErrNewerSchema) {
		t.Errorf("Migrate: %v, want ErrNewerSchema", err)
	}
	if !slices.Equal(before, tables(t, pool)) {
		t.Error("Migrate changed a newer schema")
	}
}

// A schema made by another file of the same number is nobody's.
func TestMigrateChecksum(t *testing.T) {
	pool := poolOf(t, database(t))
	migrateNow(t, pool)
	must(t, pool, `UPDATE refrain_migration SET checksum = REPEAT('0', 64)`)
	if err := migrate(t.Context(), pool, tablePatience); err == nil || !strings.Contains(err.Error(), "another file") {
		t.Errorf("Migrate: %v", err)
	}
}

// A statement of a migration does not queue behind another one for ever, nor
// everybody else behind it.
func TestMigrateTableInUse(t *testing.T) {
	pool := poolOf(t, database(t))
	migrateNow(t, pool)
	must(t, pool, `DELETE FROM refrain_migration`) // its statements will run again
	holder := mustConn(t, pool)
	if _, err := holder.ExecContext(t.Context(), `LOCK TABLES refrain_store WRITE`); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	err := migrate(ctx, pool, time.Second)
	if number(err) != errLockWait || !strings.Contains(err.Error(), "migrate again") {
		t.Errorf("Migrate: %v, want %d", err, errLockWait)
	}
	wantStatus(t, pool, Status{Newest: len(migrations())})
	if _, err := holder.ExecContext(t.Context(), `UNLOCK TABLES`); err != nil {
		t.Fatal(err)
	}
	migrateNow(t, pool)
}

// The printed schema, run by hand, is what Migrate makes.
func TestSchemaByHand(t *testing.T) {
	migrated := poolOf(t, database(t))
	migrateNow(t, migrated)
	cfg := database(t)
	cfg.MultiStatements = true
	byHand := poolOf(t, cfg)
	must(t, byHand, Schema())
	if !slices.Equal(tables(t, byHand), tables(t, migrated)) || !slices.Equal(column(t, byHand, versions), column(t, migrated, versions)) {
		t.Error("the schemas differ")
	}
	migrateNow(t, byHand)
}

func TestMigrateWithoutDatabase(t *testing.T) {
	cfg := database(t)
	cfg.DBName = ""
	if err := migrate(t.Context(), poolOf(t, cfg), tablePatience); err == nil || !strings.Contains(err.Error(), "no database") {
		t.Errorf("Migrate: %v", err)
	}
}
