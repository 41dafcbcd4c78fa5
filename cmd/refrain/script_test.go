package main

import (
	"context"
	"errors"
	"os/exec"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/refrain-dev/refrain/sqlite"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"refrain": main})
}

// TestScript runs the real binary through testdata/script, which documents the
// commands, too. Beside testscript's own words the scripts know:
//
//	code N PROGRAM ARG…      runs it and demands exit code N
//	sql FILE STATEMENT       runs a statement of somebody else's on a database
//	rollback FILE STATEMENT  the same, on a file that keeps a rollback journal
//	ref NAME FILE KEY        sets $NAME to the ref of the record with that key
//	serve ARG…               starts refrain demo with ARG…, waits until it is ready,
//	                         sets $URL, keeps what it printed as demo.out
//	paste                    does what the demo printed, in order
//	http METHOD URL [FIELD… -- BODY]   sends a request and prints the answer
//	keep NAME                sets $NAME to the ref the last http printed
//	quit                     ends the demo as a service manager does; it must exit 0
func TestScript(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                "testdata/script",
		RequireUniqueNames: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("XDG_CACHE_HOME", e.WorkDir+"/cache")
			e.Setenv("TMPDIR", e.WorkDir+"/.tmp")
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"code": code, "sql": sql, "rollback": rollbackJournal, "ref": ref, "serve": serveDemo, "paste": paste, "http": request, "keep": keepRef, "quit": quit,
		},
	})
}

func code(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N PROGRAM ARG…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

func sql(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: sql FILE STATEMENT")
	}
	ctx := context.Background()
	db, err := sqlite.Open(ts.MkAbs(args[0]))
	ts.Check(err)
	ts.Check(errors.Join(db.Setup(ctx, args[1]), db.Close(ctx)))
}

func ref(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: ref NAME FILE KEY")
	}
	ctx := context.Background()
	db, err := sqlite.Open(ts.MkAbs(args[1]))
	ts.Check(err)
	var found string
	err = db.Reader().QueryRowContext(ctx, `SELECT ref FROM refrain_record WHERE key = ?`, []byte(args[2])).Scan(&found)
	ts.Check(errors.Join(err, db.Close(ctx)))
	ts.Setenv(args[0], found)
}
