package main

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/refrain-dev/refrain/sqlite"
)

func TestJournalOf(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	db, err := sqlite.Open(at("wal"))
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(db.Close(context.Background()),
		withRollbackJournal(at("rollback"), `CREATE TABLE app (id INTEGER)`),
		os.WriteFile(at("empty"), nil, 0o600),
		os.WriteFile(at("short"), []byte("SQLite format 3\x00\x10\x00\x02"), 0o600),
		os.WriteFile(at("note"), []byte(strings.Repeat("a note ", 20)), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]journal{"wal": writeAhead, "rollback": rollback, "empty": rollback, "short": noDatabase, "note": noDatabase} {
		if got, err := journalOf(at(name)); err != nil || got != want {
			t.Errorf("%s is %v, %v, want %v", name, got, err, want)
		}
	}
	if _, err := journalOf(at("missing")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}

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
