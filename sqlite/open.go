package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	sqlitedriver "github.com/ncruces/go-sqlite3/driver"

	"github.com/refrain-dev/refrain/record"
)

// DB is the engine on one SQLite file. It is safe for concurrent use.
type DB struct {
	opts    Options
	readers *sql.DB // the application's reads
	lookups runner  // the engine's
	owned   bool    // the handles are ours to close
	writer  *writer
	haste   time.Duration
	driver  record.Driver
	parked  func() // between the writes and the commit of Reap; tests set it

	closeLookups func() error
}

// walPages is how long the write-ahead log grows before it is checkpointed:
// 64 MB, which group commit repays.
const walPages = 16000

// cacheSize lets a connection keep up to 8 MB of pages: the index of a million
// records is read at random, and 2 MB, SQLite's default, holds a part of it.
const cacheSize = "cache_size(-8000)"

// Open opens or creates the database file at path: WAL, synchronous=FULL,
// foreign keys, one writer, a pool of readers. It refuses an SQLite older than
// 3.51.3, whose write-ahead log can lose data. The tables are made by
// [DB.Migrate]; until then every call answers [refrain.ErrNotMigrated].
func Open(path string, options ...Options) (*DB, error) {
	opts, err := single(options)
	if err != nil {
		return nil, err
	}
	if path == "" || strings.HasPrefix(path, "file:") || strings.Contains(path, ":memory:") {
		return nil, errors.New("sqlite: Open needs the path of a file")
	}
	path, err = filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	synchronous := "FULL"
	if opts.Normal {
		synchronous = "NORMAL"
	}
	connector, err := connectorOf(path, "rwc", "busy_timeout(100)", "journal_mode(WAL)", "synchronous("+synchronous+")",
		"foreign_keys(ON)", cacheSize, fmt.Sprintf("wal_autocheckpoint(%d)", walPages))
	if err != nil {
		return nil, err
	}
	readPragmas := []string{fmt.Sprintf("busy_timeout(%d)", opts.Busy.Milliseconds()), "query_only(ON)", cacheSize}
	reading, err := connectorOf(path, "rw", readPragmas...)
	if err != nil {
		return nil, err
	}
	readers := sql.OpenDB(reading)
	readers.SetMaxOpenConns(opts.Readers)
	readers.SetMaxIdleConns(opts.Readers)

	lookups := newReaders(source(path, "rw", readPragmas...), opts.Readers)
	db := &DB{opts: opts, readers: readers, owned: true, lookups: lookups, closeLookups: lookups.close}
	db.init(&writer{connect: connectOwn(connector), groups: true})
	if err := db.openFile(path, lookups); err != nil {
		return nil, errors.Join(err, db.Close(context.Background()))
	}
	return db, nil
}

// openFile makes the file and its write-ahead log, and remembers which file it is.
func (db *DB) openFile(path string, lookups *readers) error {
	began := time.Now()
	err := db.writer.dial()                                                      // nobody leads yet
	for attempt := 0; busy(err) && time.Since(began) < db.opts.Busy; attempt++ { // another process makes the file
		time.Sleep(record.Backoff(time.Millisecond, 10*time.Millisecond, attempt))
		err = db.writer.dial()
	}
	if err == nil {
		err = checkLibrary(context.Background(), db.writer.run)
	}
	if err != nil {
		return fmt.Errorf("sqlite: open %s: %w", filepath.Base(path), err)
	}
	opened, err := os.Stat(path)
	if err != nil {
		return err
	}
	check := func() error {
		now, err := os.Stat(path)
		if err != nil || !os.SameFile(opened, now) {
			return errors.Join(errMoved, err)
		}
		return nil
	}
	db.writer.check = check
	lookups.check = check
	return nil
}

// New works on the application's own handle, with any SQLite driver. Each call
// is a transaction of its own on a connection borrowed for it. It refuses what
// it can see to be unsafe: an old SQLite, or a journal that is not durable; see
// [DB.Doctor]. What only a connection of ours can see, a swallowed error in a
// prepared statement or an effect that commits by itself, is the effect's own.
func New(db *sql.DB, options ...Options) (*DB, error) {
	opts, err := single(options)
	if err != nil {
		return nil, err
	}
	e := &DB{opts: opts, readers: db, lookups: foreign{db}, closeLookups: func() error { return nil }}
	e.init(&writer{
		release: true,
		connect: func(ctx context.Context) (*sql.Conn, *guard, error) {
			conn, err := db.Conn(ctx)
			if errors.Is(err, context.DeadlineExceeded) {
				err = errors.Join(errBusy, err)
			}
			return conn, nil, err
		},
	})
	checks, err := e.Doctor(context.Background())
	if err != nil {
		return nil, err
	}
	for _, c := range checks {
		if !c.OK && c.Vital {
			return nil, fmt.Errorf("sqlite: %s is %s, want %s: %s", c.Setting, c.Value, c.Want, c.Fix)
		}
	}
	return e, nil
}

func (db *DB) init(w *writer) {
	w.busy = db.opts.Busy
	w.span = groupTime
	w.check = func() error { return nil }
	w.idle = sync.NewCond(&w.mu)
	w.slow = make(map[string]time.Time)
	db.writer = w
	db.haste = haste
	db.driver.Load = db.Load
	db.driver.Change = db.Change
	db.driver.Unseen = db.newborn
}

func single(options []Options) (Options, error) {
	switch len(options) {
	case 0:
		return Options{}.withDefaults(), nil
	case 1:
		return options[0].withDefaults(), nil
	}
	return Options{}, errors.New("sqlite: more than one Options")
}

// Close waits for the group under way, then closes what Open opened. Calls that
// come later are row 9.
func (db *DB) Close(ctx context.Context) error {
	err := errors.Join(db.writer.close(ctx), db.closeLookups())
	if !db.owned {
		return err
	}
	return errors.Join(err, db.readers.Close())
}

// Reader is the read pool, for the application's own queries. It cannot write.
func (db *DB) Reader() *sql.DB { return db.readers }

// source is the data source name of path, mode rwc to create the file or rw. The
// path is escaped, so it cannot smuggle a parameter in.
func source(path, mode string, pragmas ...string) string {
	query := url.Values{"mode": {mode}, "_pragma": pragmas, "_txlock": {"immediate"}}
	return (&url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: query.Encode()}).String()
}

// connectorOf makes connections that run the pragmas first.
func connectorOf(path, mode string, pragmas ...string) (driver.Connector, error) {
	return (&sqlitedriver.SQLite{}).OpenConnector(source(path, mode, pragmas...))
}
