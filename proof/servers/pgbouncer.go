//go:build linux

package servers

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// PgBouncer is a private connection pool in transaction mode.
type PgBouncer struct {
	process
	Port int
}

// StartPgBouncer starts a pool before the PostgreSQL server at addr. The
// settings, "name = value" each, come after ours.
func StartPgBouncer(t testing.TB, addr string, settings ...string) *PgBouncer {
	t.Helper()
	as := account(t, "postgres") // it refuses to run as root
	server := program(t, "pgbouncer")
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	b := &PgBouncer{Port: freePort(t)}
	dir := folder(t, "", "refrain-pgbouncer-", as)
	b.name, b.log = "pgbouncer", filepath.Join(dir, "log")
	lines := append([]string{
		"[databases]", fmt.Sprintf("* = host=%s port=%s", host, port), "[pgbouncer]",
		"listen_addr = 127.0.0.1", fmt.Sprintf("listen_port = %d", b.Port), "unix_socket_dir =",
		"auth_type = trust", "auth_file = " + filepath.Join(dir, "users"), "admin_users = postgres",
		"pool_mode = transaction", "default_pool_size = 8", "max_client_conn = 200",
	}, settings...)
	for name, text := range map[string]string{"ini": strings.Join(lines, "\n") + "\n", "users": `"postgres" ""` + "\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b.build = func() *exec.Cmd {
		cmd := exec.Command(server, filepath.Join(dir, "ini"))
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as}
		cmd.Dir = dir
		return cmd
	}
	b.cleanup(t)
	b.launch(t)
	b.ready(t, func() error {
		conn, err := net.Dial("tcp", b.Addr())
		if err != nil {
			return err
		}
		return conn.Close()
	})
	return b
}

// DSN is the pool's, as the superuser of the server behind it.
func (b *PgBouncer) DSN() string { return PostgresDSN(b.Addr()) }

// Addr is where it listens.
func (b *PgBouncer) Addr() string { return fmt.Sprintf("127.0.0.1:%d", b.Port) }
