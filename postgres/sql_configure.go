package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// ConfigureSQL prepares connections of pgx's database/sql driver for [NewSQL]:
// the engine hears the warnings that come with a COMMIT. Hooks that config has
// already are called as before. Open the handle with stdlib.OpenDB or
// stdlib.RegisterConnConfig afterwards. A handle on a pool that went through
// [Configure] needs it not.
func ConfigureSQL(config *pgx.ConnConfig) {
	connect, notice := config.AfterConnect, config.OnNotice
	config.AfterConnect = func(ctx context.Context, conn *pgconn.PgConn) error {
		conn.CustomData()[hooksKey] = new(hooks)
		if connect == nil {
			return nil
		}
		return connect(ctx, conn)
	}
	config.OnNotice = func(conn *pgconn.PgConn, n *pgconn.Notice) {
		if h, ok := conn.CustomData()[hooksKey].(*hooks); ok && unconfirmed(n) {
			h.unconfirmed.Store(true)
		}
		if notice != nil {
			notice(conn, n)
		}
	}
}

// hooksOn are those of a connection of a handle, nil where its notices cannot be
// heard. Wrappers of a driver that tell what they wrap are looked through.
func hooksOn(conn *sql.Conn) (h *hooks) {
	_ = conn.Raw(func(c any) error {
		for {
			switch v := c.(type) {
			case *stdlib.Conn:
				h = hooksOf(v.Conn())
				return nil
			case interface{ Raw() driver.Conn }: // otelsql's, for one
				c = v.Raw()
			default:
				return nil
			}
		}
	})
	return h
}
