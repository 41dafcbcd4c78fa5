package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	sqlitedriver "github.com/ncruces/go-sqlite3/driver"
)

// guarding wraps every connection of a connector in a [guard].
type guarding struct{ driver.Connector }

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

// connectOwn opens a connection of ours with its guard. Each has a pool of its
// own and is closed through the guard: [sql.Conn.Close] waits for rows that an
// effect has left open, maybe for ever.
func connectOwn(connector driver.Connector) func(context.Context) (*sql.Conn, *guard, error) {
	return func(ctx context.Context) (*sql.Conn, *guard, error) {
		pool := sql.OpenDB(guarding{connector})
		conn, err := pool.Conn(ctx)
		if err != nil {
			return nil, nil, errors.Join(err, pool.Close())
		}
		var g *guard
		err = conn.Raw(func(c any) error {
			g = c.(*guard)
			g.pool = pool
			return nil
		})
		return conn, g, err
	}
}

// giveBack returns a connection to a pool that is not ours. Rows that an effect
// has left open keep it; nobody waits for them longer than patience.
func giveBack(conn *sql.Conn, patience time.Duration) {
	returned := make(chan struct{})
	go func() {
		defer close(returned)
		_ = conn.Close()
	}()
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-returned:
	case <-late.C:
	}
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
