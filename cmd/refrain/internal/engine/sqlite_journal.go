package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/refrain-dev/refrain/sqlite"
)

// journal is how a database file keeps what is not committed yet.
type journal int

const (
	noDatabase journal = iota // the file is not SQLite's
	rollback                  // a rollback journal; also an empty file, which is none yet
	writeAhead                // a write-ahead log
)

// journalOf reads the file's header (https://sqlite.org/fileformat.html#the_database_header):
// opening the file as the engine does would already turn a rollback journal
// into a write-ahead log.
func journalOf(path string) (journal, error) {
	f, err := os.Open(path)
	if err != nil {
		return noDatabase, err
	}
	defer f.Close()
	var header [20]byte
	const magic = "SQLite format 3\x00"
	switch n, err := io.ReadFull(f, header[:]); {
	case errors.Is(err, io.EOF): // nothing at all
		return rollback, nil
	case err != nil && !errors.Is(err, io.ErrUnexpectedEOF):
		return noDatabase, err
	case n < len(header) || string(header[:len(magic)]) != magic:
		return noDatabase, nil
	case header[18] == 2 && header[19] == 2: // the versions to write and to read by
		return writeAhead, nil
	}
	return rollback, nil
}

// journal is [journalOf] the file, also while another process makes it: the driver
// reserves a new file's first page before it writes it, and for that moment a
// reader without SQLite's locks finds zeros. So SQLite itself has the last word on
// what is no database.
func (f File) journal(ctx context.Context, o Options) (journal, error) {
	kept, err := journalOf(string(f))
	if err != nil || kept != noDatabase {
		return kept, err
	}
	switch err := f.read(ctx, o); {
	case errors.Is(err, sqlite3.NOTADB):
		return noDatabase, nil
	case err != nil:
		return noDatabase, err
	}
	return journalOf(string(f))
}

// read has SQLite read the file as it is: it waits for a writer's lock.
func (f File) read(ctx context.Context, o Options) error {
	pool, err := f.handle(o)
	if err != nil {
		return err
	}
	var version int
	return errors.Join(pool.QueryRowContext(ctx, `PRAGMA schema_version`).Scan(&version), pool.Close())
}

// openRollback opens a database with a rollback journal on a handle of ours,
// which leaves the journal as it is.
func (f File) openRollback(o Options) (*sqlite.DB, error) {
	pool, err := f.handle(o)
	if err != nil {
		return nil, err
	}
	db, err := sqlite.New(pool, sqlite.Options{Now: o.Now, Observer: o.Observer, Busy: o.patience()})
	if err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	return db, nil
}

// handle is one on the file as it is; nothing is opened yet. The driver is the one
// the engine registers.
func (f File) handle(o Options) (*sql.DB, error) {
	absolute, err := filepath.Abs(string(f))
	if err != nil {
		return nil, err
	}
	settings := url.Values{"mode": {"rw"}, "_txlock": {"immediate"},
		"_pragma": {fmt.Sprintf("busy_timeout(%d)", o.patience().Milliseconds()), "synchronous(FULL)", "foreign_keys(ON)"}}
	return sql.Open("sqlite3", (&url.URL{Scheme: "file", OmitHost: true, Path: absolute, RawQuery: settings.Encode()}).String())
}

// patience is the engine's own where none is set.
func (o Options) patience() time.Duration {
	if o.Patience > 0 {
		return o.Patience
	}
	return 5 * time.Second
}
