package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// The engine relies on these; an upgrade of the driver must not lose them.
func TestAbilities(t *testing.T) {
	t.Parallel()
	for _, d := range drivers {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			found, err := d.abilities(t.Context(), filepath.Join(t.TempDir(), "a.db"))
			if err != nil {
				t.Fatal(err)
			}
			value := make(map[string]string, len(found))
			for _, f := range found {
				value[f[0]] = f[1]
			}
			var major, minor, patch int
			if _, err := fmt.Sscanf(value["SQLite version"], "%d.%d.%d", &major, &minor, &patch); err != nil {
				t.Fatal(err)
			}
			if version := major*1_000_000 + minor*1_000 + patch; version < 3_051_003 {
				t.Errorf("SQLite %s is older than 3.51.3", value["SQLite version"])
			}
			for _, q := range []string{
				"BEGIN", "COMMIT", "END", "/* a comment */ COMMIT", "SELECT 1; COMMIT", "ROLLBACK", "SAVEPOINT mine",
				"RELEASE member", "ROLLBACK TO member", "DROP TABLE t", "REINDEX", "ATTACH ':memory:' AS other",
			} {
				if got := value["effect runs `"+q+"`"]; got != "denied" {
					t.Errorf("%s: %q, want denied", q, got)
				}
			}
			if got := value["effect runs `INSERT INTO t (v) VALUES (2)`"]; got != "runs" {
				t.Errorf("an effect's INSERT: %q", got)
			}
			for ability, want := range map[string]string{
				"COMMIT prepared while allowed, run while denied, same authorizer":  "runs",
				"`DBSTATUS_DEFERRED_FKS` after RELEASE of a violation, then mended": "true, false",
				"transaction gone after that `OR ROLLBACK`":                         "true",
			} {
				if got := value[ability]; got != want {
					t.Errorf("%s: %q, want %q", ability, got, want)
				}
			}
			insert := value["endless INSERT with 50 ms of context, in a transaction"]
			if !strings.Contains(insert, "transaction gone: true") {
				t.Errorf("a cancelled INSERT: %q", insert)
			}
		})
	}
}
