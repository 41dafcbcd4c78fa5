package postgres

import (
	"strings"

	"github.com/jackc/pgx/v5"
)

// grants are the rights an engine needs on each table. Migrate needs the owner's.
var grants = []struct{ table, rights string }{
	{"migration", "SELECT"},
	{"store", "SELECT, UPDATE"},
	{"operation", "SELECT, INSERT, UPDATE"},
	{"record", "SELECT, INSERT, UPDATE, DELETE"},
	{"span", "SELECT, INSERT, UPDATE, DELETE"},
	{"fence", "SELECT, INSERT, UPDATE, DELETE"},
	{"allow", "SELECT, INSERT, UPDATE, DELETE"},
	{"review", "SELECT, INSERT, UPDATE, DELETE"},
	{"once", "SELECT, INSERT, DELETE"},
	{"audit", "SELECT, INSERT"},
	{"external", "SELECT, INSERT, UPDATE, DELETE"},
}

// Grants is the SQL that gives a role what an engine on this schema needs for
// everything but Migrate, and no more. The owner of the tables runs it, after
// each migration.
func Grants(schema, role string) string {
	name, to := pgx.Identifier{schema}.Sanitize(), pgx.Identifier{role}.Sanitize()
	var b strings.Builder
	b.WriteString("GRANT USAGE ON SCHEMA " + name + " TO " + to + ";\n")
	for _, g := range grants {
		b.WriteString("GRANT " + g.rights + " ON " + name + "." + g.table + " TO " + to + ";\n")
	}
	return b.String()
}
