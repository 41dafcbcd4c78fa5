package sqlite

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"github.com/refrain-dev/refrain/record"
)

var (
	// errGone: SQLite has rolled the transaction back on its own.
	errGone = errors.New("sqlite: the transaction was rolled back")
	// errAbandoned: the effect's goroutine left by a panic or runtime.Goexit.
	errAbandoned = errors.New("sqlite: the effect did not return")
	// errClosed: the engine is closed.
	errClosed = errors.New("sqlite: the database is closed")
	// errBusy: the writer did not become free in time.
	errBusy = fmt.Errorf("sqlite: the database is busy: %w", record.ErrNotBegun)
	// errMoved: another file lies under the path now.
	errMoved = errors.New("sqlite: the database file was replaced or removed while it was open; restart")
)

// busy reports contention: another connection holds the write lock. Drivers
// other than ours are recognised by their text.
func busy(err error) bool {
	return errors.Is(err, sqlite3.BUSY) || errors.Is(err, sqlite3.LOCKED) ||
		err != nil && (strings.Contains(err.Error(), "database is locked") || strings.Contains(err.Error(), "SQLITE_BUSY"))
}

// fatal reports an error after which a transaction cannot be trusted: going on
// could commit a half.
func fatal(err error) bool {
	for _, code := range [...]sqlite3.ErrorCode{
		sqlite3.FULL, sqlite3.IOERR, sqlite3.NOMEM, sqlite3.CORRUPT, sqlite3.NOTADB, sqlite3.INTERRUPT,
		sqlite3.CANTOPEN, sqlite3.PROTOCOL, sqlite3.READONLY, sqlite3.BUSY, sqlite3.LOCKED, sqlite3.AUTH,
	} {
		if errors.Is(err, code) {
			return true
		}
	}
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
