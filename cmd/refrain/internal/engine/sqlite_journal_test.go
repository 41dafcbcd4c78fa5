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
