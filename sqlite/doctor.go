package sqlite

import (
	"context"
	"fmt"

	"github.com/refrain-dev/refrain/upkeep"
)

// Check is one setting that decides what the engine can promise.
type Check = upkeep.Check

// Doctor reads the settings that decide durability, on the connection that
// writes. It changes nothing.
func (db *DB) Doctor(ctx context.Context) ([]Check, error) {
	var checks []Check
	status, err := db.MigrationStatus(ctx)
	if err != nil {
		return nil, err
	}
	err = db.writing(ctx, func(ctx context.Context, s *session) error {
		checks, err = inspect(ctx, s.run)
		return err
	})
	if err != nil {
		return nil, err
	}
	schema := Check{Setting: "schema", Value: fmt.Sprint(status.Version), Want: fmt.Sprint(status.Newest), OK: status.Check() == nil,
		Why: "the tables must be the ones this binary knows", Fix: "refrain migrate, or DB.Migrate; a newer schema needs the newer binary"}
	return append(checks, schema), nil
}

func inspect(ctx context.Context, q runner) ([]Check, error) {
	var checks []Check
	read := func(query string) (value string, err error) {
		err = q.row(ctx, query, func(r row) error {
			if value = r.text(0); value == "" {
				value = fmt.Sprint(r.integer(0))
			}
			return nil
		})
		return value, err
	}
	for _, c := range []struct {
		query string
		Check
		ok func(value string) bool
	}{
		{"SELECT sqlite_version()", Check{Setting: "sqlite_version", Want: ">= " + minVersion, Vital: true,
			Why: "older versions can lose committed transactions when the write-ahead log is reset",
			Fix: "use a driver with a newer SQLite"},
			func(v string) bool { return atLeast(v, minVersion) }},
		{"PRAGMA journal_mode", Check{Setting: "journal_mode", Want: "wal", Vital: true,
			Why: "readers must not block the writer, and off or memory lose transactions in a crash",
			Fix: "PRAGMA journal_mode=WAL (delete, truncate and persist are safe, but slow)"},
			func(v string) bool { return v == "wal" || v == "delete" || v == "truncate" || v == "persist" }},
		{"PRAGMA synchronous", Check{Setting: "synchronous", Want: "2 (FULL) or 3 (EXTRA)", Vital: true,
			Why: "with NORMAL or OFF a power loss takes acknowledged effects and their records",
			Fix: "PRAGMA synchronous=FULL on every connection"},
			func(v string) bool { return v == "2" || v == "3" }},
		{"PRAGMA foreign_keys", Check{Setting: "foreign_keys", Want: "1",
			Why: "SQLite enforces the application's foreign keys only where it is told to",
			Fix: "PRAGMA foreign_keys=ON on every connection"},
			func(v string) bool { return v == "1" }},
		{"PRAGMA query_only", Check{Setting: "query_only", Want: "0", Vital: true,
			Why: "the writer must be able to write", Fix: "PRAGMA query_only=OFF"},
			func(v string) bool { return v == "0" }},
	} {
		value, err := read(c.query)
		if err != nil {
			return nil, err
		}
		c.Value, c.OK = value, c.ok(value)
		checks = append(checks, c.Check)
	}
	return checks, nil
}
