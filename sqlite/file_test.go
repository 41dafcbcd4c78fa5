package sqlite

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/refrain-dev/refrain"
)

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	garbage := filepath.Join(dir, "garbage.db")
	text := bytes.Repeat([]byte("no database "), 1000)
	if err := os.WriteFile(garbage, text, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		path string
		code sqlite3.ErrorCode
	}{
		"garbage":           {garbage, sqlite3.NOTADB},
		"missing directory": {filepath.Join(dir, "missing", "shop.db"), sqlite3.CANTOPEN},
		"a directory":       {dir, sqlite3.CANTOPEN},
	}
	for name, tt := range tests {
		db, err := Open(tt.path)
		if db != nil || !errors.Is(err, tt.code) {
			t.Errorf("%s: %v, want %v", name, err, tt.code)
		}
	}
	if after, err := os.ReadFile(garbage); err != nil || !bytes.Equal(after, text) {
		t.Errorf("the foreign file was changed (%v)", err)
	}
	for _, path := range []string{"", ":memory:", "file:shop.db"} {
		if db, err := Open(path); db != nil || err == nil {
			t.Errorf("Open(%q) = nil error", path)
		}
	}
}

// A path is a path, whatever characters it has.
func TestOpenOddPath(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a?_pragma=query_only(1)&b #%41 ü.db")
	db := openAt(t, path)
	wantUsable(t, db)
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}

// Another file under the path would take the records without the effects they
// belong to, or the effects without the records.
func TestFileMoved(t *testing.T) {
	moves := map[string]func(path string) error{
		"removed": os.Remove,
		"moved":   func(path string) error { return os.Rename(path, path+".old") },
		"replaced": func(path string) error {
			if err := os.WriteFile(path+".new", nil, 0o600); err != nil {
				return err
			}
			return os.Rename(path+".new", path)
		},
	}
	for name, move := range moves {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "shop.db")
			db := openAt(t, path)
			if err := run(db, call("before"), put("before")); err != nil {
				t.Fatal(err)
			}
			if err := move(path); err != nil {
				t.Fatal(err)
			}
			runs := 0
			err := run(db, call("fresh"), counted(&runs, put("fresh")))
			wantRow(t, err, "9", refrain.ErrUnavailable)
			if !errors.Is(err, errMoved) {
				t.Errorf("%v does not say what happened", err)
			}
			equal(t, "runs", runs, 0)
			if out, err := db.Execute(t.Context(), call("before"), counted(&runs, put("again"))); err == nil && !out.Replayed {
				t.Errorf("executed again: %+v", out)
			}
			equal(t, "runs", runs, 0)
		})
	}
}

// A database that cannot be written executes nothing. Permissions do not bind
// every user, so the connection itself is made read-only.
func TestReadOnly(t *testing.T) {
	db := openShop(t)
	if err := run(db, call("before"), put("before")); err != nil {
		t.Fatal(err)
	}
	readOnly := true
	between(t, db, func(statement string, run func() error) error {
		err := run()
		if statement == "BEGIN IMMEDIATE" && err == nil && readOnly {
			_, err = db.writer.run.exec(t.Context(), "PRAGMA query_only=ON")
		}
		return err
	})
	err := run(db, call("k"), put("k"))
	wantRow(t, err, "9", refrain.ErrUnavailable)
	if !errors.Is(err, sqlite3.READONLY) {
		t.Errorf("%v does not say why", err)
	}
	if out, err := db.Execute(t.Context(), call("before"), put("before")); err != nil || !out.Replayed {
		t.Errorf("a replay: %+v, %v", out, err)
	}
	quiet(t, db)
	wantItems(t, db, "before")
}
