//go:build linux

package recovery

import (
	"bytes"
	"context"
	"crypto/rand"
	"database/sql"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	_ "github.com/ncruces/go-sqlite3/driver"

	"github.com/refrain-dev/refrain/proof/engines"
	"github.com/refrain-dev/refrain/proof/servers"
)

// place is a database of its own that can be backed up the way its engine's page
// says, while it is used, and be restored when it is not.
type place struct {
	url     string
	backup  func(t *testing.T)
	restore func(t *testing.T)
}

var places = map[string]func(t *testing.T) place{"sqlite": inFile, "postgres": onPostgres, "mysql": onMySQL}

func inFile(t *testing.T) place {
	path := filepath.Join(t.TempDir(), "shop.db")
	copied := path + ".backup"
	return place{
		url: path,
		backup: func(t *testing.T) {
			execute(t, "sqlite3", "file:"+path, "VACUUM INTO '"+copied+"'")
		},
		restore: func(t *testing.T) {
			text, err := os.ReadFile(copied)
			if err == nil {
				err = os.WriteFile(path, text, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, beside := range []string{"-wal", "-shm"} {
				if err := os.Remove(path + beside); err != nil && !os.IsNotExist(err) {
					t.Fatal(err)
				}
			}
		},
	}
}

func onPostgres(t *testing.T) place {
	server := engines.Shared(t, engines.Pgx)
	tool(t, "pg_dump")
	tool(t, "pg_restore")
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	name := "recovery_" + strings.ToLower(rand.Text()[:12])
	u.Path = "/" + name
	copied := filepath.Join(t.TempDir(), "shop.dump")
	empty := func(t testing.TB) {
		execute(t, "pgx", server, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)", "CREATE DATABASE "+name)
	}
	empty(t)
	t.Cleanup(func() { execute(t, "pgx", server, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)") })
	return place{
		url:    u.String(),
		backup: func(t *testing.T) { run(t, nil, "pg_dump", "--format=custom", "--file="+copied, u.String()) },
		restore: func(t *testing.T) {
			empty(t)
			run(t, nil, "pg_restore", "--exit-on-error", "--dbname="+u.String(), copied)
		},
	}
}

func onMySQL(t *testing.T) place {
	server := engines.Shared(t, engines.MySQL)
	dump, client := tool(t, "mariadb-dump", "mysqldump"), tool(t, "mariadb", "mysql")
	cfg, err := mysql.ParseDSN(server)
	if err != nil {
		t.Fatal(err)
	}
	name := "recovery_" + strings.ToLower(rand.Text()[:12])
	host, port, _ := strings.Cut(cfg.Addr, ":")
	as := []string{"--host=" + host, "--port=" + port, "--protocol=tcp", "--user=" + cfg.User}
	copied := filepath.Join(t.TempDir(), "shop.sql")
	empty := func(t testing.TB) {
		execute(t, "mysql", server, "DROP DATABASE IF EXISTS "+name, "CREATE DATABASE "+name)
	}
	empty(t)
	t.Cleanup(func() { execute(t, "mysql", server, "DROP DATABASE IF EXISTS "+name) })
	u := url.URL{Scheme: "mysql", User: url.User(cfg.User), Host: cfg.Addr, Path: "/" + name}
	if cfg.Passwd != "" {
		u.User = url.UserPassword(cfg.User, cfg.Passwd)
		t.Setenv("MYSQL_PWD", cfg.Passwd)
	}
	return place{
		url: u.String(),
		backup: func(t *testing.T) {
			run(t, nil, dump, append(as, "--single-transaction", "--result-file="+copied, name)...)
		},
		restore: func(t *testing.T) {
			empty(t)
			text, err := os.ReadFile(copied)
			if err != nil {
				t.Fatal(err)
			}
			run(t, text, client, append(as, name)...)
		},
	}
}

// tool is the first of the named programs that this machine has.
func tool(t *testing.T, names ...string) string {
	t.Helper()
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	servers.Missing(t, "no %s on this machine", names[0])
	return ""
}

func run(t *testing.T, stdin []byte, program string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Stdin = bytes.NewReader(stdin)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", program, err, out)
	}
}

// execute runs statements on a connection that is closed afterwards: one that stays
// would keep a restored file from being opened.
func execute(t testing.TB, driver, dsn string, statements ...string) {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, statement := range statements {
		if _, err := db.ExecContext(context.Background(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}
