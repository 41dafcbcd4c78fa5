//go:build linux

package otherserver

import (
	"context"
	"database/sql"
	"testing"

	"github.com/refrain-dev/refrain/mysql"
	"github.com/refrain-dev/refrain/proof/servers"
)

// A store migrated apart is another one, although its database has the same name.
func TestMariaDB(t *testing.T) {
	here, there := servers.StartMariaDB(t, ""), servers.StartMariaDB(t, "")
	own, handle := onMySQL(t, here.DSN())
	_, other := onMySQL(t, there.DSN())
	joins(t, own.ExecuteIn, other, "apart", mysql.ErrOtherDatabase)
	joins(t, own.ExecuteIn, handle, "own", nil)
	joins(t, own.ExecuteIn, other, "apart", mysql.ErrOtherDatabase)
}

// onMySQL is an engine on the server, migrated, and a handle beside it.
func onMySQL(t *testing.T, dsn string) (*mysql.DB, *sql.DB) {
	t.Helper()
	db, err := mysql.Open(dsn)
	if err == nil {
		err = db.Migrate(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close(context.Background()) })
	return db, opened(t, "mysql", dsn)
}
