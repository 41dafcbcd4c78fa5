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

	"github.com/ncruces/go-sqlite3"

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
		os.WriteFile(at("zeros"), make([]byte, 4096), 0o600),
		os.WriteFile(at("note"), []byte(strings.Repeat("a note ", 20)), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]journal{"wal": writeAhead, "rollback": rollback, "empty": rollback, "short": noDatabase, "zeros": noDatabase, "note": noDatabase} {
		if got, err := File(at(name)).journal(t.Context(), Options{}); err != nil || got != want {
			t.Errorf("%s is %v, %v, want %v", name, got, err, want)
		}
	}
	if _, err := File(at("missing")).journal(t.Context(), Options{}); !errors.Is(err, fs.ErrNotExist) {
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

// TestFileBeingMade: a file is zeros for a moment while another process makes it,
// which is no word on what it will be.
func TestFileBeingMade(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "made")
	if err := rollbackFile(path); err != nil {
		t.Fatal(err)
	}
	made, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	maker, err := sql.Open("sqlite3", "file:"+path+"?_txlock=exclusive")
	if err != nil {
		t.Fatal(err)
	}
	defer maker.Close()
	tx, err := maker.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, make([]byte, len(made)), 0o600); err != nil {
		t.Fatal(err)
	}
	if kept, err := File(path).journal(t.Context(), Options{Patience: time.Millisecond}); !errors.Is(err, sqlite3.BUSY) {
		t.Errorf("while it is made it is %v, %v", kept, err)
	}
	if err := errors.Join(os.WriteFile(path, made, 0o600), tx.Rollback()); err != nil {
		t.Fatal(err)
	}
	if kept, err := File(path).journal(t.Context(), Options{}); err != nil || kept != rollback {
		t.Errorf("the made file is %v, %v", kept, err)
	}
}
