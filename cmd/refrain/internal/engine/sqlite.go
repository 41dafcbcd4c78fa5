package engine

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/refrain-dev/refrain/sqlite"
)

// File is a SQLite database by its path.
type File string

func sqliteAt(from, text string) (Place, error) {
	path := strings.TrimPrefix(strings.TrimPrefix(text, "sqlite:"), "//")
	if path == "" || strings.HasPrefix(path, "file:") || strings.Contains(path, ":memory:") {
		return nil, misnamed("name a file: sqlite:PATH", "%s %q names no file", from, text)
	}
	return File(path), nil
}

func (f File) String() string { return "sqlite:" + string(f) }

// Schema implements [Place].
func (f File) Schema() string { return sqlite.Schema() }

// Open implements [Place].
func (f File) Open(ctx context.Context, o Options) (Database, error) {
	options := sqlite.Options{Now: o.Now, Observer: o.Observer, Busy: o.Patience}
	if o.Brief {
		options.Readers = 1
	}
	db, err := sqlite.Open(string(f), options)
	if err != nil {
		if kept, unread := f.journal(ctx, o); unread == nil && kept == noDatabase {
			return nil, f.isNone()
		}
		return nil, unusable("check the path, and that the file is a SQLite database this user may write", "open %s: %w", f, err)
	}
	return sqliteDB{db, ""}, nil
}

const newFileHint = "check the path; refrain migrate makes a new database"

func (f File) isNone() error { return unusable(newFileHint, "%s is not a SQLite database", f) }

// OpenAsItIs implements [Place]. A rollback journal stays one.
func (f File) OpenAsItIs(ctx context.Context, o Options) (Database, error) {
	info, err := os.Stat(string(f))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &Error{Err: missing{f}, Hint: newFileHint}
	case err != nil:
		return nil, unusable("check the path", "open %s: %w", f, err)
	case !info.Mode().IsRegular():
		return nil, unusable("name a file: sqlite:PATH", "%s is not a file", f)
	}
	kept, err := f.journal(ctx, o)
	switch {
	case err == nil && kept == noDatabase:
		return nil, f.isNone()
	case err == nil && kept == rollback:
		var db *sqlite.DB
		if db, err = f.openRollback(o); err == nil {
			return sqliteDB{db, f.String() + " keeps a rollback journal and was left so; sqlite.Open and refrain migrate make it a write-ahead log"}, nil
		}
	case err == nil:
		return f.Open(ctx, o)
	}
	return nil, unusable("check that this user may read and write the file", "open %s: %w", f, err)
}

// missing is a database that is not there yet; it is [fs.ErrNotExist].
type missing struct{ File }

func (m missing) Error() string { return "there is no database at " + m.File.String() }
func (m missing) Unwrap() error { return fs.ErrNotExist }

// Own implements [Place].
func (f File) Own(ctx context.Context) (Place, func(context.Context) error, error) {
	stays := func(context.Context) error { return nil }
	db, err := f.OpenAsItIs(ctx, Options{Brief: true})
	if errors.Is(err, fs.ErrNotExist) {
		return f, stays, nil
	}
	if err != nil {
		return nil, nil, err
	}
	empty, err := db.Empty(ctx)
	if err == nil && !empty {
		err = misnamed("name a file that does not exist yet", "%s has tables; the tour needs an empty database", f)
	}
	return f, stays, errors.Join(err, db.Close(context.WithoutCancel(ctx)))
}

// sqliteDB is an open file.
type sqliteDB struct {
	*sqlite.DB
	notice string
}

// Close closes the readers, too, whoever opened them.
func (d sqliteDB) Close(ctx context.Context) error {
	return errors.Join(d.DB.Close(ctx), d.Reader().Close())
}

func (d sqliteDB) Notice() string { return d.notice }

// The quotes have no prefix, as in the files there are.
func (d sqliteDB) SQL(statement string) string {
	return words{serial: "INTEGER PRIMARY KEY", quotes: "quotes"}.in(statement)
}

func (d sqliteDB) Empty(ctx context.Context) (bool, error) {
	var tables int
	err := d.Reader().QueryRowContext(ctx, `SELECT count(*) FROM sqlite_master WHERE name NOT LIKE 'sqlite\_%' ESCAPE '\'`).Scan(&tables)
	return tables == 0, err
}
