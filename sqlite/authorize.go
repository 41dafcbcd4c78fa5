package sqlite

import (
	"strings"

	"github.com/ncruces/go-sqlite3"
)

// readPragmas are the pragmas that only tell something.
var readPragmas = map[string]bool{
	"table_info": true, "table_xinfo": true, "table_list": true, "index_list": true, "index_info": true,
	"index_xinfo": true, "foreign_key_list": true, "foreign_key_check": true, "data_version": true,
	"function_list": true, "collation_list": true, "compile_options": true, "database_list": true,
}

// authorize is SQLite's authorizer. It is a proof, not a guard rail: SQLite
// asks it while it compiles each statement, so comments, several statements in
// one text and END for COMMIT make no difference. The engine's own statements
// pass; an effect may not end or nest the transaction, change the schema, or
// touch Refrain's tables.
//
// https://sqlite.org/c3ref/set_authorizer.html
func (g *guard) authorize(action sqlite3.AuthorizerActionCode, name3rd, name4th, _, _ string) sqlite3.AuthorizerReturnCode {
	if g.turn == nil || g.turn.trusted && action != sqlite3.AUTH_TRANSACTION {
		return sqlite3.AUTH_OK
	}
	denied := ""
	switch action {
	case sqlite3.AUTH_SELECT, sqlite3.AUTH_READ, sqlite3.AUTH_FUNCTION, sqlite3.AUTH_RECURSIVE:
	case sqlite3.AUTH_INSERT, sqlite3.AUTH_UPDATE, sqlite3.AUTH_DELETE:
		if strings.HasPrefix(strings.ToLower(name3rd), "refrain_") {
			denied = "write to " + name3rd
		}
	case sqlite3.AUTH_TRANSACTION:
		denied = "end the transaction (" + name3rd + ")"
	case sqlite3.AUTH_SAVEPOINT:
		denied = "use savepoints (" + name3rd + " " + name4th + ")"
	case sqlite3.AUTH_PRAGMA:
		if name4th != "" && !readPragmas[strings.ToLower(name3rd)] {
			denied = "set PRAGMA " + name3rd
		}
	default:
		denied = "change the schema or attach databases"
	}
	if denied == "" {
		return sqlite3.AUTH_OK
	}
	g.denied = denied
	return sqlite3.AUTH_DENY
}
