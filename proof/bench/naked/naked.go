// Package naked is the least that can be done on SQLite for an effect and its
// record: prepared statements written by hand, no contract, no fingerprint,
// no flight, no guard. It is the upper bound the engine is compared with.
package naked

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"sync"

	_ "github.com/ncruces/go-sqlite3/driver" // the engine's driver

	"github.com/refrain-dev/refrain/sqlite"
)

// readers is the size of the pool that replays read through.
const readers = 4

// Naked holds one write connection, used by one caller or one group at a
// time, and a pool of read connections.
type Naked struct {
	writes, reads *sql.DB
	writer        *sql.Conn
	replay        *sql.Stmt
	st            statements
	turn          sync.Mutex // owns writer and st
	group         group
}

// Answer is the stored result of one action.
type Answer struct {
	Status   int
	Headers  []byte
	Body     []byte
	Replayed bool // found, not made by this call
}

// New opens path with the engine's driver and makes its tables: WAL,
// synchronous=FULL, a checkpoint each 16,000 pages.
func New(path string) (*Naked, error) { return Open("sqlite3", path) }

// Open is New with another registered driver. It must understand _pragma in
// the data source name, as ncruces ("sqlite3") and modernc ("sqlite") do.
func Open(driver, path string) (_ *Naked, err error) {
	n := new(Naked)
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("naked: open with %s: %w", driver, err), n.Close())
		}
	}()
	if n.writes, err = sql.Open(driver, source(path)); err != nil {
		return nil, err
	}
	n.writes.SetMaxOpenConns(1)
	ctx := context.Background()
	if n.writer, err = n.writes.Conn(ctx); err != nil {
		return nil, err
	}
	if _, err = n.writer.ExecContext(ctx, sqlite.Schema()+OrdersSQL); err != nil {
		return nil, err
	}
	if n.st, err = prepare(ctx, n.writer); err != nil {
		return nil, err
	}
	if n.reads, err = sql.Open(driver, source(path)+"&_pragma=query_only(1)"); err != nil {
		return nil, err
	}
	n.reads.SetMaxOpenConns(readers)
	n.reads.SetMaxIdleConns(readers)
	n.replay, err = n.reads.PrepareContext(ctx, lookupSQL)
	return n, err
}

func source(path string) string {
	pragmas := url.Values{"_pragma": {
		"busy_timeout(10000)", "journal_mode(wal)", "synchronous(full)", "wal_autocheckpoint(16000)",
	}}
	return "file:" + path + "?" + pragmas.Encode()
}

// Close closes both pools. No operation may be under way.
func (n *Naked) Close() error {
	// The driver does not close a connection that has open statements.
	errs := []error{n.st.close()}
	if n.replay != nil {
		errs = append(errs, n.replay.Close())
	}
	if n.writer != nil {
		errs = append(errs, n.writer.Close())
	}
	for _, db := range []*sql.DB{n.writes, n.reads} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}

// Version is the SQLite version the driver reports.
func (n *Naked) Version(ctx context.Context) (version string, err error) {
	err = n.reads.QueryRowContext(ctx, "SELECT sqlite_version()").Scan(&version)
	return version, err
}

// Bare commits the effect alone in a transaction of its own.
func (n *Naked) Bare(ctx context.Context) error {
	n.turn.Lock()
	defer n.turn.Unlock()
	return n.tx(ctx, func() error { return n.effect(ctx) })
}

// Single commits the effect and its record in a transaction of its own, or
// returns the answer that stands under key.
func (n *Naked) Single(ctx context.Context, key string) (answer Answer, err error) {
	n.turn.Lock()
	defer n.turn.Unlock()
	err = n.tx(ctx, func() error {
		answer, err = n.once(ctx, key)
		return err
	})
	return answer, err
}

// Replay reads the answer under key without a transaction;
// sql.ErrNoRows if there is none.
func (n *Naked) Replay(ctx context.Context, key string) (Answer, error) {
	return lookup(ctx, n.replay, key)
}

// Preload commits an answer under Preloaded(0) to Preloaded(count-1).
func (n *Naked) Preload(ctx context.Context, count int) error {
	n.turn.Lock()
	defer n.turn.Unlock()
	return n.tx(ctx, func() error {
		for i := range count {
			if _, err := n.once(ctx, Preloaded(i)); err != nil {
				return err
			}
		}
		return nil
	})
}

// tx runs work between BEGIN IMMEDIATE and COMMIT, which no caller's context
// may cut.
func (n *Naked) tx(ctx context.Context, work func() error) error {
	if _, err := n.st.begin.ExecContext(ctx); err != nil {
		return err
	}
	lasting := context.WithoutCancel(ctx)
	err := work()
	if err == nil {
		_, err = n.st.commit.ExecContext(lasting)
	}
	if err != nil {
		// SQLite may have rolled back by itself; then this one fails and
		// says nothing new.
		_, _ = n.st.rollback.ExecContext(lasting)
	}
	return err
}

// once looks the key up and, if it is new, runs the effect and records it.
func (n *Naked) once(ctx context.Context, key string) (Answer, error) {
	answer, err := lookup(ctx, n.st.lookup, key)
	if !errors.Is(err, sql.ErrNoRows) {
		return answer, err
	}
	if err := n.effect(ctx); err != nil {
		return Answer{}, err
	}
	return n.record(ctx, key)
}
