package mysql

import (
	"database/sql"
	"strings"
)

// What an effect calls, and triggers behind its statements, may SET what a
// session has, for as long as the connection lives. On connections of ours the
// session is restored at the end of each transaction, in the place of a statement
// that is sent anyway: what the engine relies on to what it needs, what other
// effects rely on to what the connection began with.

// kept are variables of which a connection remembers what it began with.
// Assigning sql_mode also tells the driver what it is.
var kept = [...]string{"sql_mode", "foreign_key_checks", "sql_select_limit", "time_zone",
	"character_set_client", "character_set_results", "collation_connection"}

func keptIn(marker, name string) string { return "@" + marker + "_" + name }

// rememberSQL stores kept in user variables whose names no effect can guess.
func rememberSQL(marker string) string {
	var all []string
	for _, name := range kept {
		all = append(all, keptIn(marker, name)+" = @@SESSION."+name)
	}
	return "SET " + strings.Join(all, ", ")
}

// ownSQL is what the engine needs. A session whose autocommit is off would leave
// reads in a transaction that never ends.
func ownSQL(level sql.IsolationLevel, maria bool) string {
	name := "transaction_isolation"
	if maria {
		name = "tx_isolation"
	}
	return "SET SESSION " + name + " = '" + strings.ReplaceAll(levelSQL(level), " ", "-") + "', autocommit = 1, unique_checks = 1, completion_type = 0"
}

// restoreSQL also releases every lock, whatever an effect took by the way; not
// where the server has none.
func restoreSQL(marker string, level sql.IsolationLevel, maria, locked bool) string {
	text := ownSQL(level, maria)
	for _, name := range kept {
		text += ", SESSION " + name + " = " + keptIn(marker, name)
	}
	if locked {
		text += ", " + keptIn(marker, "released") + " = RELEASE_ALL_LOCKS()"
	}
	return text
}
