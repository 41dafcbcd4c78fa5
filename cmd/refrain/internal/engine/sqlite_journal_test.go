package engine

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
		rollbackFile(at("rollback")),
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

// rollbackFile makes a database as an application without the engine does.
func rollbackFile(path string) error {
	pool, err := sql.Open("sqlite3", "file:"+path)
	if err != nil {
		return err
	}
	_, err = pool.Exec(`CREATE TABLE app (id INTEGER)`)
	return errors.Join(err, pool.Close())
}

// TestFileBeingMade: a file is zeros for a moment while another process makes it.
func TestFileBeingMade(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "made")
	if err := os.WriteFile(path, make([]byte, 4096), 0o600); err != nil {
		t.Fatal(err)
	}
	if kept, err := File(path).journal(t.Context(), Options{}); err != nil || kept != noDatabase {
		t.Errorf("zeros are %v, %v", kept, err)
	}
	kept, err := lookAgain(path, func() error { // the other process ends
		return errors.Join(os.Remove(path), rollbackFile(path))
	})
	if err != nil || kept != rollback {
		t.Errorf("a made file is %v, %v", kept, err)
	}
}

// TestReadWaitsForTheWriter, and so for a process that makes the file.
func TestReadWaitsForTheWriter(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "written")
	if err := rollbackFile(path); err != nil {
		t.Fatal(err)
	}
	writer, err := sql.Open("sqlite3", "file:"+path+"?_txlock=exclusive")
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	tx, err := writer.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := File(path).read(t.Context(), Options{Patience: time.Millisecond}); err == nil {
		t.Error("it reads beside a writer")
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := File(path).read(t.Context(), Options{}); err != nil {
		t.Error(err)
	}
}
