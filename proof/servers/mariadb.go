//go:build linux

package servers

import (
	"context"
	"database/sql"
	"fmt"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	_ "github.com/go-sql-driver/mysql" // the driver
)

// MariaDB is a private MariaDB server, or a MySQL server started by
// [StartMySQL].
type MariaDB struct {
	process
	Port int
}

// StartMariaDB makes a server's files and starts it, with an empty database
// test. The settings, "--name=value" each, come after ours.
func StartMariaDB(t testing.TB, on On, settings ...string) *MariaDB {
	t.Helper()
	as := account(t, "mysql")
	server, install := program(t, "mariadbd"), program(t, "mariadb-install-db")
	m, dir := newMariaDB(t, on, "mariadb", as)
	data := filepath.Join(dir, "data")
	cmd := exec.Command(install, "--no-defaults", "--datadir="+data, "--auth-root-authentication-method=normal", "--skip-test-db",
		"--innodb-log-file-size=4M")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as}
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("mariadb-install-db: %v\n%s", err, out)
	}
	m.build = func() *exec.Cmd {
		cmd := exec.Command(server, append([]string{"--no-defaults", "--datadir=" + data, "--skip-name-resolve", "--innodb-log-file-size=4M"},
			m.settings(dir, settings)...)...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as}
		cmd.Dir = dir
		return cmd
	}
	m.start(t)
	if err := m.Exec(t.Context(), "CREATE DATABASE test"); err != nil {
		t.Fatal(err)
	}
	return m
}

func newMariaDB(t testing.TB, on On, name string, as *syscall.Credential) (m *MariaDB, dir string) {
	t.Helper()
	m = &MariaDB{Port: freePort(t)}
	dir = folder(t, string(on), "refrain-"+name+"-", as)
	m.name, m.log = name, filepath.Join(dir, "log")
	if on != "" { // a full disk has no place for it
		m.log = filepath.Join(folder(t, "", "refrain-log-", as), "log")
	}
	m.cleanup(t)
	return m, dir
}

// settings are what both servers understand.
func (m *MariaDB) settings(dir string, more []string) []string {
	return append([]string{
		"--bind-address=127.0.0.1", fmt.Sprintf("--port=%d", m.Port), "--socket=" + filepath.Join(dir, "socket"),
		"--pid-file=" + filepath.Join(dir, "pid"), "--skip-log-bin",
		"--innodb-buffer-pool-size=32M", "--innodb-flush-log-at-trx-commit=2", "--max-connections=60",
	}, more...)
}

func (m *MariaDB) start(t testing.TB) {
	t.Helper()
	m.launch(t)
	m.ready(t, func() error { return m.Exec(t.Context(), "SELECT 1") })
}

// DSN is the server's, as its superuser, with the database test.
func (m *MariaDB) DSN() string { return MariaDSN(m.Addr(), "test") }

// Addr is where it listens.
func (m *MariaDB) Addr() string { return fmt.Sprintf("127.0.0.1:%d", m.Port) }

// MariaDSN is the superuser's at the address.
func MariaDSN(addr, database string) string {
	return fmt.Sprintf("root@tcp(%s)/%s?timeout=5s", addr, database)
}

// Exec runs one statement on a connection of its own, in no database.
func (m *MariaDB) Exec(ctx context.Context, statement string) (err error) {
	db, err := sql.Open("mysql", MariaDSN(m.Addr(), ""))
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = db.ExecContext(ctx, statement)
	return err
}

// Stop ends the server in good order.
func (m *MariaDB) Stop(t testing.TB) {
	t.Helper()
	m.end(t, syscall.SIGTERM)
}

// Start starts a server that was stopped or killed, on the same port.
func (m *MariaDB) Start(t testing.TB) {
	t.Helper()
	m.start(t)
}
