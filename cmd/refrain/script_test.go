package main

import (
	"context"
	"crypto/rand"
	"errors"
	"net/url"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/refrain-dev/refrain/cmd/refrain/internal/engine"
	"github.com/refrain-dev/refrain/cmd/refrain/internal/enginetest"
	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/sqlite"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"refrain": main})
}

// TestScript runs the real binary through testdata/script, which documents the
// commands, too. Beside testscript's own words the scripts know:
//
//	code N PROGRAM ARG…      runs it and demands exit code N
//	sql DB STATEMENT         runs a statement of somebody else's on a database, a file's
//	                         path or a URL; of ours it names {record}, {operation},
//	                         {migration} and {key}
//	rollback FILE STATEMENT  the same, on a file that keeps a rollback journal
//	ref NAME DB KEY          sets $NAME to the ref of the record with that key
//	serve ARG…               starts refrain demo with ARG…, waits until it is ready,
//	                         sets $URL, keeps what it printed as demo.out
//	paste                    does what the demo printed, in order
//	http METHOD URL [FIELD… -- BODY]   sends a request and prints the answer
//	keep NAME                sets $NAME to the ref the last http printed
//	user                     makes a user who may only look, and sets $LOOKER to $DB for it
//	quit                     ends the demo as a service manager does; it must exit 0
func TestScript(t *testing.T) {
	t.Parallel()
	testscript.Run(t, scripts("testdata/script", nil))
}

// TestEveryScript runs testdata/every on every engine, and TestServerScript
// testdata/server on the servers, with $DB the name of a new database, $ENGINE its
// scheme, and $USER and $HOST where a server is.
func TestEveryScript(t *testing.T)  { onEngines(t, enginetest.Engines, "testdata/every") }
func TestServerScript(t *testing.T) { onEngines(t, enginetest.Servers, "testdata/server") }

func onEngines(t *testing.T, engines []string, dir string) {
	t.Parallel()
	for _, scheme := range engines {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			enginetest.URL(t, scheme) // skips or fails where there is no server
			p := scripts(dir, func(e *testscript.Env) error {
				e.Setenv("ENGINE", scheme)
				if scheme == "sqlite" {
					e.Setenv("DB", "sqlite:shop.db")
					return nil
				}
				db, remove, err := enginetest.New(scheme)
				if err != nil {
					return err
				}
				e.Defer(func() {
					if err := remove(); err != nil {
						e.T().Log(err)
						e.T().FailNow()
					}
				})
				e.Setenv("DB", db)
				server := enginetest.Server(scheme)
				e.Setenv("HOST", server.Host)
				e.Setenv("USER", server.User.String())
				return nil
			})
			p.Condition = func(cond string) (bool, error) { return cond == scheme, nil }
			testscript.Run(t, p)
		})
	}
}

func scripts(dir string, setup func(*testscript.Env) error) testscript.Params {
	return testscript.Params{
		Dir:                dir,
		RequireUniqueNames: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("XDG_CACHE_HOME", e.WorkDir+"/cache")
			e.Setenv("TMPDIR", e.WorkDir+"/.tmp")
			if setup == nil {
				return nil
			}
			return setup(e)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"code": code, "sql": sqlCommand, "rollback": rollbackJournal, "ref": ref, "serve": serveDemo, "paste": paste, "http": request, "keep": keepRef, "quit": quit, "user": user,
		},
	}
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

func sqlCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: sql DB STATEMENT")
	}
	u, err := url.Parse(args[0])
	ts.Check(err)
	words := []string{"{record}", "refrain_record", "{operation}", "refrain_operation", "{migration}", "refrain_migration", "{key}", "`key`"}
	switch u.Scheme {
	case "postgres":
		schema := u.Query().Get("refrain_schema") + "."
		words = []string{"{record}", schema + "record", "{operation}", schema + "operation", "{migration}", schema + "migration", "{key}", "key"}
	case "mysql":
	default:
		words[5], words[7] = "refrain_schema", "CAST(key AS TEXT)"
	}
	statement := strings.NewReplacer(words...).Replace(args[1])
	if engine.Names(args[0]) && u.Scheme != "sqlite" {
		ts.Check(enginetest.Run(u, statement))
		return
	}
	ctx := context.Background()
	db, err := sqlite.Open(ts.MkAbs(strings.TrimPrefix(args[0], "sqlite:")))
	ts.Check(err)
	ts.Check(errors.Join(db.Setup(ctx, statement), db.Close(ctx)))
}

func ref(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: ref NAME DB KEY")
	}
	at := engine.Place(engine.File(ts.MkAbs(strings.TrimPrefix(args[1], "sqlite:"))))
	if !strings.HasPrefix(args[1], "sqlite:") {
		var err error
		at, err = engine.Parse("the script", args[1])
		ts.Check(err)
	}
	ctx := context.Background()
	db, err := at.Open(ctx, brief)
	ts.Check(err)
	all, err := db.List(ctx, record.Record{}, 1000)
	ts.Check(errors.Join(err, db.Close(ctx)))
	for _, rec := range all {
		if rec.Identity.Key == args[2] {
			ts.Setenv(args[0], rec.Ref)
			return
		}
	}
	ts.Fatalf("no record has the key %s", args[2])
}

// user makes a user with no privileges but to look at its database, and sets
// $LOOKER to the database's URL for it.
func user(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: user")
	}
	u, err := url.Parse(ts.Getenv("DB"))
	ts.Check(err)
	name := "looker_" + strings.ToLower(rand.Text()[:16])
	if u.Scheme == "postgres" {
		ts.Check(enginetest.Run(u, "CREATE ROLE "+name+" LOGIN"))
	} else {
		ts.Check(enginetest.Run(u, "CREATE USER "+name, "GRANT SELECT ON "+strings.TrimPrefix(u.Path, "/")+".* TO "+name))
	}
	ts.Defer(func() { ts.Check(enginetest.Run(u, "DROP USER "+name)) })
	looker := *u
	looker.User = url.User(name)
	ts.Setenv("LOOKER", looker.String())
}
