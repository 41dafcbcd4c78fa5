package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strconv"
	"strings"

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

func checkLibrary(ctx context.Context, q runner) error {
	var version string
	err := q.row(ctx, `SELECT sqlite_version()`, func(r row) error {
		version = r.text(0)
		return nil
	})
	if err != nil {
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
