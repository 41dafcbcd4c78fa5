//go:build linux

package otherserver

import (
	"context"
	"database/sql"
	"net/url"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/refrain-dev/refrain/postgres"
	"github.com/refrain-dev/refrain/proof/servers"
)

// onPostgres is an engine on the server, migrated or not, and its handle.
func onPostgres(t *testing.T, dsn string, migrates bool) (*postgres.SQL, *sql.DB) {
	t.Helper()
	handle := opened(t, "pgx", dsn)
	db, err := postgres.NewSQL(handle)
	if err == nil && migrates {
		err = db.Migrate(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close(context.Background()) })
	return db, handle
}

// A store migrated apart is another one, and so is a copy restored elsewhere under
// the same name.
func TestPostgres(t *testing.T) {
	here, there := servers.StartPostgres(t, ""), servers.StartPostgres(t, "")
	own, handle := onPostgres(t, here.DSN(), true)
	_, other := onPostgres(t, there.DSN(), true)
	joins(t, own.ExecuteIn, handle, "own", nil)
	joins(t, own.ExecuteIn, other, "apart", postgres.ErrOtherDatabase)

	const id = `SELECT id::text FROM refrain.store`
	var store string
	if err := handle.QueryRow(id).Scan(&store); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Exec(`UPDATE refrain.store SET id = $1::uuid`, store); err != nil {
		t.Fatal(err)
	}
	joins(t, own.ExecuteIn, other, "restored", postgres.ErrOtherDatabase)
}

// What stands between, and a standby that took over, is the same database: told
// again once, because the run of the server is another one.
func TestPostgresIsTheSame(t *testing.T) {
	primary := servers.StartPostgres(t, "")
	own, handle := onPostgres(t, servers.PostgresDSN(primary.Addr()), true)
	joins(t, own.ExecuteIn, handle, "own", nil)
	bouncer := servers.StartPgBouncer(t, primary.Addr())
	joins(t, own.ExecuteIn, opened(t, "pgx", with(t, bouncer.DSN(), "default_query_exec_mode", "exec")), "pooled", nil)

	standby := primary.Standby(t, "standby")
	primary.Synchronous(t, "standby")
	moving, _ := onPostgres(t, with(t, servers.PostgresDSN(primary.Addr()+","+standby.Addr()), "target_session_attrs", "read-write"), false)
	joins(t, moving.ExecuteIn, opened(t, "pgx", primary.DSN()), "before", nil)
	primary.Kill(t)
	standby.Promote(t)
	joins(t, moving.ExecuteIn, opened(t, "pgx", standby.DSN()), "after", nil)
}

func with(t *testing.T, dsn, name, value string) string {
	t.Helper()
	at, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	query := at.Query()
	query.Set(name, value)
	at.RawQuery = query.Encode()
	return at.String()
}
