package mysql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"strings"
)

// guarding wraps every connection of a connector in a [guard] and gives it the
// session ours need.
type guarding struct {
	driver.Connector
	isolation sql.IsolationLevel
	marker    string
}

func (c guarding) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	g := &guard{inner: conn.(innerConn)}
	if err = g.meet(ctx); err == nil {
		_, err = g.inner.ExecContext(ctx, ownSQL(c.isolation, g.maria)+";"+rememberSQL(c.marker), nil)
	}
	if err == nil && g.maria {
		err = g.keep(ctx, keepSQL(c.marker, c.isolation))
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return g, nil
}

// keep prepares the blocks. A server that has no room for them, see its
// max_prepared_stmt_count, gets the same statements as texts.
func (g *guard) keep(ctx context.Context, text string) error {
	_, err := g.inner.ExecContext(ctx, text, nil)
	g.blocks = err == nil
	if number(err) != 0 {
		return nil
	}
	return err
}

func levelSQL(level sql.IsolationLevel) string { return strings.ToUpper(level.String()) }

// meet asks the server who it is, by which id the connection can be killed, and
// how much it takes in one piece.
func (g *guard) meet(ctx context.Context) error {
	rows, err := g.inner.QueryContext(ctx, "SELECT CAST(CONNECTION_ID() AS SIGNED), VERSION(), @@max_allowed_packet LIMIT 1", nil)
	if err != nil {
		return err
	}
	values := make([]driver.Value, 3)
	if err = rows.Next(values); err == nil {
		r := anyRow{values[0], values[1], values[2]}
		g.id, g.packet, g.maria = r.integer(0), r.integer(2), strings.Contains(r.text(1), "MariaDB")
	}
	return errors.Join(err, rows.Close())
}
