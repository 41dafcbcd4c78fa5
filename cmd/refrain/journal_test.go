package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/refrain-dev/refrain/sqlite"
)

// TestLookingLeavesTheJournal: a migrated file of an application that keeps a
// rollback journal is read in full and stays as it is.
func TestLookingLeavesTheJournal(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "app.db")
	if err := withRollbackJournal(path, sqlite.Schema()); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"doctor", "migrate status", "contract", "ops list"} {
		exit, _, stderr := runMain(t, nil, append(strings.Fields(command), "--db", "sqlite:"+path)...)
		if exit != exitOK {
			t.Errorf("%s: exit %d, %s", command, exit, stderr)
		}
		if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, before) {
			t.Errorf("%s changed the file, %v", command, err)
		}
	}
	if left, _ := filepath.Glob(path + "-*"); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}
