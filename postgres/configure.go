package postgres

import (
	"context"
	"strings"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/multitracer"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Configure prepares the connections of a pool for [New]: the engine hears the
// warnings that come with a COMMIT, and sees the statements an effect issues
// through tx.Conn(). Hooks that config has already are called as before. Make
// the pool with pgxpool.NewWithConfig afterwards. [Open] does all of it.
func Configure(config *pgxpool.Config) {
	connect := config.AfterConnect
	config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		conn.PgConn().CustomData()[hooksKey] = new(hooks)
		if connect == nil {
			return nil
		}
		return connect(ctx, conn)
	}
	notice := config.ConnConfig.OnNotice
	config.ConnConfig.OnNotice = func(conn *pgconn.PgConn, n *pgconn.Notice) {
		if h, ok := conn.CustomData()[hooksKey].(*hooks); ok && unconfirmed(n) {
			h.unconfirmed.Store(true)
		}
		if notice != nil {
			notice(conn, n)
		}
	}
	tracers := []pgx.QueryTracer{watch{}}
	if config.ConnConfig.Tracer != nil {
		tracers = []pgx.QueryTracer{config.ConnConfig.Tracer, watch{}} // ours has the last word
	}
	config.ConnConfig.Tracer = &hooked{multitracer.New(tracers...)}
}

// hooked is the tracer of a configured pool.
type hooked struct{ *multitracer.Tracer }

const hooksKey = "refrain"

// hooks are what the engine knows of one configured connection.
type hooks struct {
	turn        atomic.Pointer[turn] // while an effect has the connection
	unconfirmed atomic.Bool          // a COMMIT's wait for a standby was given up
}

// hooksOf is nil for a connection that was not configured.
func hooksOf(conn *pgx.Conn) *hooks {
	h, _ := conn.PgConn().CustomData()[hooksKey].(*hooks)
	return h
}

// unconfirmed reports the warning that comes with a COMMIT which no synchronous
// standby has confirmed. Its text is in the server's language; the name of the
// routine that gives it is not.
func unconfirmed(n *pgconn.Notice) bool {
	return n.Routine == "SyncRepWaitForLSN" || strings.Contains(n.Message, "wait for synchronous replication")
}
