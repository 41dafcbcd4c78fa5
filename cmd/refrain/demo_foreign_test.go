package main

import (
	"context"
	"strings"
	"testing"

	"github.com/refrain-dev/refrain/cmd/refrain/internal/enginetest"
)

// stopper ends what it hears of.
type stopper func()

func (s stopper) Write(p []byte) (int, error) {
	s()
	return len(p), nil
}

// TestDemoLeavesForeignDatabase: among the tables of an application the demo makes
// none, until somebody migrates.
func TestDemoLeavesForeignDatabase(t *testing.T) {
	enginetest.Each(t, []string{"sqlite", "mysql"}, func(t *testing.T, url string) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		db, err := enginetest.Place(t, url).Open(ctx, brief)
		if err != nil {
			t.Fatal(err)
		}
		defer closing(db, &err)
		if err := db.Setup(ctx, `CREATE TABLE refrains (id INTEGER)`); err != nil {
			t.Fatal(err)
		}
		var stderr strings.Builder
		m := Main{Stdout: stopper(cancel), Stderr: &stderr, Getenv: func(string) string { return "" }}
		if exit := m.Run(ctx, []string{"demo", "--listen", "127.0.0.1:0", "--db", url}); exit != exitDatabase || !strings.Contains(stderr.String(), "is not migrated: version 0 of") {
			t.Errorf("exit %d, %s", exit, &stderr)
		}
		if status, err := db.MigrationStatus(t.Context()); err != nil || status.Version != 0 {
			t.Errorf("version %d, %v", status.Version, err)
		}
	})
}
