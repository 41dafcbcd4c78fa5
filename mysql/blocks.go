package mysql

import (
	"database/sql"
	"strings"
)

// A server parses a text anew each time, which takes it about as long as to run
// it. Where it can prepare several statements as one block, which MariaDB can, a
// connection keeps the two texts of a new action so. A block ends at its first
// error, as a text of several statements does, and the values, which follow in
// the text that executes it, are as [inlined] writes them.

// keepSQL prepares the blocks of a connection of ours.
func keepSQL(marker string, level sql.IsolationLevel) string {
	var all []string
	for _, locked := range [...]bool{false, true} {
		k := kind{maria: true, locked: locked}
		t := newTexts(marker, level, k)
		all = append(all, prepareSQL(k.block(marker, "begin"), t.begin), prepareSQL(k.block(marker, "record"), t.record))
	}
	return strings.Join(all, ";")
}

// block is the name of a block, which no effect can guess.
func (k kind) block(marker, what string) string {
	if k.locked {
		what += "_locked"
	}
	return marker + "_" + what
}

func prepareSQL(block, text string) string {
	return "PREPARE " + block + " FROM 'BEGIN NOT ATOMIC " + strings.ReplaceAll(text, "'", "''") + "; END'"
}

// executeSQL runs the block made of text, which has a mark for each value.
func executeSQL(block, text string) string {
	return "EXECUTE " + block + " USING ?" + strings.Repeat(",?", strings.Count(text, "?")-1)
}
