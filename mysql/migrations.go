package mysql

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"strings"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

type migration struct {
	version  int
	name     string
	sql      string
	checksum string
}

// migrations in order; the files' numbers are their versions.
func migrations() []migration {
	names, _ := fs.Glob(migrationFiles, "migrations/*.sql") // the pattern is well-formed
	var ms []migration
	for i, name := range names {
		text, _ := fs.ReadFile(migrationFiles, name) // embedded: cannot fail
		sum := sha256.Sum256(text)
		ms = append(ms, migration{i + 1, strings.TrimPrefix(name, "migrations/"), string(text), hex.EncodeToString(sum[:])})
	}
	return ms
}

// Schema is the SQL that Migrate runs on an empty database, to read or to run
// by hand.
func Schema() string {
	var b strings.Builder
	for _, m := range migrations() {
		fmt.Fprintf(&b, "-- %s\n%s\nINSERT INTO refrain_migration (version, checksum, at) VALUES (%d, '%s', %s);\n\n",
			m.name, m.sql, m.version, m.checksum, nowSQL)
	}
	return b.String()
}

// Privileges is the SQL that lets account, as MySQL writes it ('shop'@'%'), do
// what the engine does on migrated tables, and no more: to read and to run by
// hand, in the database of the tables. Who migrates needs CREATE, ALTER and INDEX
// on the database, too, and INSERT on refrain_migration.
func Privileges(account string) string {
	var b strings.Builder
	for _, p := range privileges {
		fmt.Fprintf(&b, "GRANT %s ON %s TO %s;\n", strings.Join(p.verbs, ", "), p.table, account)
	}
	return b.String()
}

// privileges by table. Nobody changes a line of audit, nor which store this is.
var privileges = []struct {
	table, column string // any column
	verbs         []string
}{
	{"refrain_migration", "version", []string{"SELECT"}},
	{"refrain_store", "counter", []string{"SELECT", "UPDATE"}},
	{"refrain_operation", "identity", []string{"SELECT", "INSERT", "UPDATE"}},
	{"refrain_record", "version", []string{"SELECT", "INSERT", "UPDATE", "DELETE"}},
	{"refrain_span", "due", []string{"SELECT", "INSERT", "UPDATE", "DELETE"}},
	{"refrain_once", "at", []string{"SELECT", "INSERT", "DELETE"}},
	{"refrain_fence", "ended", []string{"SELECT", "INSERT", "UPDATE", "DELETE"}},
	{"refrain_allow", "at", []string{"SELECT", "INSERT", "UPDATE", "DELETE"}},
	{"refrain_review", "count", []string{"SELECT", "INSERT", "UPDATE", "DELETE"}},
	{"refrain_audit", "at", []string{"SELECT", "INSERT"}},
	{"refrain_external", "due", []string{"SELECT", "INSERT", "UPDATE", "DELETE"}},
}

// splitSQL splits a migration at the semicolons that end lines; migration
// files have no others, nor triggers.
func splitSQL(text string) []string {
	var out []string
	for part := range strings.SplitSeq(text, ";\n") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}
