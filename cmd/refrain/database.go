package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/refrain-dev/refrain/sqlite"
)

// schemes are the engines --db knows.
const schemes = "sqlite:PATH"

// database is the path of the file --db or REFRAIN_DB names, "" if neither is set.
func (m *Main) database() (path string, err error) {
	url, from := m.db, "--db"
	if url == "" {
		url, from = m.Getenv("REFRAIN_DB"), "REFRAIN_DB"
	}
	if url == "" {
		return "", nil
	}
	scheme, path, found := strings.Cut(url, ":")
	switch {
	case !found:
		return "", misused("known are: "+schemes, "%s %q has no scheme", from, url)
	case scheme != "sqlite":
		return "", misused("known are: "+schemes, "%s has the unknown scheme %q", from, scheme)
	}
	path = strings.TrimPrefix(path, "//")
	if path == "" || strings.HasPrefix(path, "file:") || strings.Contains(path, ":memory:") {
		return "", misused("name a file: "+schemes, "%s %q names no file", from, url)
	}
	return path, nil
}

// named is the path of the file --db names, which the command cannot do without.
func (m *Main) named() (string, error) {
	path, err := m.database()
	if err == nil && path == "" {
		err = misused("add --db "+schemes+", or set REFRAIN_DB", "no database is named")
	}
	return path, err
}

// open opens the file at path as services do, or makes it.
func open(path string, options sqlite.Options) (*sqlite.DB, error) {
	db, err := sqlite.Open(path, options)
	if err != nil {
		if kept, unread := journalOf(path); unread == nil && kept == noDatabase {
			return nil, notDatabase(path)
		}
		return nil, unusable("check the path, and that the file is a SQLite database this user may write", "open sqlite:%s: %w", path, err)
	}
	return db, nil
}

func notDatabase(path string) error {
	return unusable("check the path; refrain migrate makes a new database", "sqlite:%s is not a SQLite database", path)
}

// openExisting opens the file at path, never makes one, and leaves its journal
// as it is.
func openExisting(path string) (*sqlite.DB, error) {
	if err := existing(path); err != nil {
		return nil, err
	}
	kept, err := journalOf(path)
	switch {
	case err == nil && kept == noDatabase:
		return nil, notDatabase(path)
	case err == nil && kept == rollback:
		var db *sqlite.DB
		if db, err = openAsItIs(path); err == nil {
			return db, nil
		}
	case err == nil:
		return open(path, sqlite.Options{})
	}
	return nil, unusable("check that this user may read and write the file", "open sqlite:%s: %w", path, err)
}

// existing reports a path that leads to no file.
func existing(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return unusable("check the path; refrain migrate makes a new database", "there is no database at sqlite:%s", path)
	case err != nil:
		return unusable("check the path", "open sqlite:%s: %w", path, err)
	case !info.Mode().IsRegular():
		return unusable("name a file: "+schemes, "sqlite:%s is not a file", path)
	}
	return nil
}

// openCurrent opens an existing database that is at this binary's version.
func openCurrent(ctx context.Context, path string) (*sqlite.DB, error) {
	db, err := openExisting(path)
	if err != nil {
		return nil, err
	}
	if err := current(ctx, db, path); err != nil {
		closing(db, &err)
		return nil, err
	}
	return db, nil
}

// closing closes db, whoever made its handle, and keeps the first error.
func closing(db *sqlite.DB, err *error) {
	*err = errors.Join(*err, db.Close(context.Background()), db.Reader().Close())
}

// current reports a database that is not at this binary's version.
func current(ctx context.Context, db *sqlite.DB, path string) error {
	status, err := db.MigrationStatus(ctx)
	switch {
	case err != nil:
		return unusable("check that the file is a SQLite database", "read sqlite:%s: %w", path, err)
	case status.Version > status.Newest:
		return newer(path, status)
	case status.Version < status.Newest:
		return unusable(fmt.Sprintf("run: refrain migrate --db sqlite:%s", path),
			"sqlite:%s is not migrated: version %d of %d", path, status.Version, status.Newest)
	}
	return nil
}

func newer(path string, status sqlite.Status) error {
	return unusable("use the refrain binary that migrated it, or a later one",
		"sqlite:%s was migrated by a newer version: %d, this binary knows %d", path, status.Version, status.Newest)
}

// empty reports whether the database has no tables at all.
func empty(ctx context.Context, db *sqlite.DB) (bool, error) {
	var tables int
	err := db.Reader().QueryRowContext(ctx, `SELECT count(*) FROM sqlite_master WHERE name NOT LIKE 'sqlite\_%' ESCAPE '\'`).Scan(&tables)
	return tables == 0, err
}
