package mysql

import (
	"database/sql"
	"strings"
)

// COMMIT says what follows it, whatever the session's completion_type.
const (
	beginSQL  = `START TRANSACTION READ WRITE`
	commitSQL = `COMMIT AND NO CHAIN NO RELEASE`
	undoSQL   = `ROLLBACK AND NO CHAIN NO RELEASE`
)

// kind is which texts a connection of ours needs. blocks: it has prepared what is
// sent for each new action, see [keepSQL].
type kind struct{ maria, locked, blocks bool }

// texts are the statements a connection of ours sends at once. The looks come
// before the transaction: at SERIALIZABLE they would lock gaps inside of it, and
// at REPEATABLE READ they would date the effect's snapshot.
type texts struct {
	begin  string // lock, glance, transaction, marker
	record string // the record behind the marker, COMMIT
	commit string // the same where the record is written already
	undo   string
}

// glanceSQL is the lookup of a claim that is almost certainly new: whether there
// is a record, and what stands beyond it, in one statement. No row: the store
// does not know the operation.
// Nothing in it refers from one table to another, which so are read once, by key.
const glanceSQL = `SELECT ` + nowSQL + `, o.identity, o.horizon, r.n, a.hash,` +
	` (SELECT CONCAT(MAX(until), IF(SUM(ended IS NULL), '+', X'')) FROM refrain_fence WHERE operation IN (X'', ?) AND scope IN (X'', ?)), ` + pinnedSQL +
	` FROM refrain_operation o LEFT JOIN refrain_record r ON r.hash = ?` +
	" LEFT JOIN refrain_allow a ON a.hash = ? AND a.scope = ? AND a.operation = ? AND a.`key` = ?" +
	` WHERE o.operation = ? LIMIT 1`

// probe asks whether somebody is writing a record of the identity, without
// waiting for it: ExecuteIn's row stands uncommitted as long as its caller likes.
func probe(maria bool) string {
	return `SELECT 1 FROM refrain_record WHERE hash = ? LIMIT 1 ` + noWait(maria)
}

// noWait makes a read a locking one that does not wait.
func noWait(maria bool) string {
	if maria {
		return `LOCK IN SHARE MODE NOWAIT`
	}
	return `FOR SHARE NOWAIT`
}

// isLocked reports that a statement which does not wait would have had to.
func isLocked(err error) bool { return number(err) == errLockWait || number(err) == errNoWait }

// patience is how long the record's statement waits for a row that a caller of
// ExecuteIn has not committed, where the server can say so for one statement.
const patienceSQL = `SET STATEMENT innodb_lock_wait_timeout = 1 FOR `

func newTexts(marker string, level sql.IsolationLevel, k kind) *texts {
	begin := []string{glanceSQL, beginSQL, "SAVEPOINT " + marker}
	insert := insertSQL
	if k.maria {
		insert = patienceSQL + insert
	} else {
		begin = append([]string{probe(false)}, begin...)
	}
	if k.locked {
		begin = append([]string{takeLock}, begin...)
	}
	restore := restoreSQL(marker, level, k.maria, k.locked)
	release := "RELEASE SAVEPOINT " + marker
	t := &texts{
		begin:  strings.Join(begin, ";"),
		record: strings.Join([]string{release, insert, commitSQL, restore}, ";"),
		commit: release + ";" + commitSQL + ";" + restore,
		undo:   undoSQL + ";" + restore,
	}
	if k.blocks {
		t.begin = executeSQL(k.block(marker, "begin"), t.begin)
		t.record = executeSQL(k.block(marker, "record"), t.record)
	}
	return t
}
