package main

import (
	database "database/sql"
	"errors"

	"github.com/rogpeppe/go-internal/testscript"
)

// rollbackJournal makes a database as an application without the engine does.
func rollbackJournal(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: rollback FILE STATEMENT")
	}
	ts.Check(withRollbackJournal(ts.MkAbs(args[0]), args[1]))
}

func withRollbackJournal(path, statement string) error {
	pool, err := database.Open("sqlite3", "file:"+path)
	if err != nil {
		return err
	}
	_, err = pool.Exec(statement)
	return errors.Join(err, pool.Close())
}
