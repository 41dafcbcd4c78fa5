package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	sqlitedriver "github.com/ncruces/go-sqlite3/driver"
)

// guarding wraps every connection of a connector in a [guard].
type guarding struct{ driver.Connector }

func guardConnector(c driver.Connector) driver.Connector { return guarding{c} }

func (c guarding) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	g, err := newGuard(conn.(sqlitedriver.Conn))
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return g, nil
}

// connectOwn pins one connection of a pool of ours together with its guard.
func connectOwn(pool *sql.DB) func(context.Context) (*sql.Conn, *guard, error) {
	return func(ctx context.Context) (*sql.Conn, *guard, error) {
		conn, err := pool.Conn(ctx)
		if err != nil {
			return nil, nil, err
		}
		var g *guard
		err = conn.Raw(func(c any) error {
			g = c.(*guard)
			return nil
		})
		return conn, g, err
	}
}

// closeConn closes a pinned connection for good instead of returning it.
func closeConn(conn *sql.Conn) {
	_ = conn.Raw(func(any) error { return driver.ErrBadConn })
}

// minVersion is the first SQLite without the write-ahead log reset race, by
// which a committed transaction could be lost.
const minVersion = "3.51.3"

func checkLibrary(ctx context.Context, q rower) error {
	var version string
	if err := q.QueryRowContext(ctx, `SELECT sqlite_version()`).Scan(&version); err != nil {
		return err
	}
	if !atLeast(version, minVersion) {
		return fmt.Errorf("SQLite %s can lose committed transactions; %s or later is needed", version, minVersion)
	}
	return nil
}

// atLeast compares dotted versions.
func atLeast(version, least string) bool {
	v, l := strings.Split(version, "."), strings.Split(least, ".")
	for i := range l {
		if i >= len(v) {
			return false
		}
		a, errA := strconv.Atoi(v[i])
		b, errB := strconv.Atoi(l[i])
		if errA != nil || errB != nil {
			return false
		}
		if a != b {
			return a > b
		}
	}
	return true
}

// lazyStmt prepares a statement at its first use, when the tables exist.
type lazyStmt struct {
	db    *sql.DB
	query string

	mu   sync.Mutex
	stmt *sql.Stmt
}

func (l *lazyStmt) get(ctx context.Context) (*sql.Stmt, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stmt == nil {
		stmt, err := l.db.PrepareContext(ctx, l.query)
		if err != nil {
			return nil, err
		}
		l.stmt = stmt
	}
	return l.stmt, nil
}

func (l *lazyStmt) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stmt == nil {
		return nil
	}
	return l.stmt.Close()
}
