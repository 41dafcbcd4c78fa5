package engine

import (
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"time"

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

// openRollback opens a database with a rollback journal on a handle of ours,
// which leaves the journal as it is.
func (f File) openRollback(o Options) (db *sqlite.DB, err error) {
	absolute, err := filepath.Abs(string(f))
	if err != nil {
		return nil, err
	}
	patience := 5 * time.Second
	if o.Patience > 0 {
		patience = o.Patience
	}
	settings := url.Values{"mode": {"rw"}, "_txlock": {"immediate"},
		"_pragma": {fmt.Sprintf("busy_timeout(%d)", patience.Milliseconds()), "synchronous(FULL)", "foreign_keys(ON)"}}
	// The driver is the one the engine registers.
	pool, err := sql.Open("sqlite3", (&url.URL{Scheme: "file", OmitHost: true, Path: absolute, RawQuery: settings.Encode()}).String())
	if err != nil {
		return nil, err
	}
	if db, err = sqlite.New(pool, sqlite.Options{Now: o.Now, Observer: o.Observer, Busy: patience}); err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	return db, nil
}
