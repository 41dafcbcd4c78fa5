//go:build linux

package servers

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Postgres is a private PostgreSQL server.
type Postgres struct {
	process
	Port int
	data string
	bin  string
	as   *syscall.Credential
}

// On is where a server keeps its data; "" is the system's place for temporary
// files.
type On string

// StartPostgres makes a cluster and starts it. The settings, "name=value" each,
// come after ours. Nothing is synced: what a process can suffer is not what a
// power cut takes.
func StartPostgres(t testing.TB, on On, settings ...string) *Postgres {
	t.Helper()
	p := newPostgres(t, on, "postgres", settings)
	p.run(t, "initdb", "-D", p.data, "-N", "-A", "trust", "-U", "postgres", "--no-locale", "-E", "UTF8")
	p.start(t)
	return p
}

func newPostgres(t testing.TB, on On, name string, settings []string) *Postgres {
	t.Helper()
	as := account(t, "postgres")
	dirs, _ := filepath.Glob("/usr/lib/postgresql/*/bin") // Debian's, on no path
	if out, err := exec.Command("pg_config", "--bindir").Output(); err == nil {
		dirs = append(dirs, strings.TrimSpace(string(out)))
	}
	slices.Reverse(dirs)
	postgres := program(t, "postgres", dirs...)
	p := &Postgres{Port: freePort(t), bin: filepath.Dir(postgres), as: as}
	dir := folder(t, string(on), "refrain-postgres-", as)
	p.data, p.name, p.log = filepath.Join(dir, "data"), name, filepath.Join(dir, "log")
	if on != "" { // a full disk has no place for it
		p.log = filepath.Join(folder(t, "", "refrain-log-", as), "log")
	}
	p.build = func() *exec.Cmd {
		args := []string{"-D", p.data, "-p", fmt.Sprint(p.Port)}
		for _, setting := range append([]string{
			"listen_addresses=127.0.0.1", "unix_socket_directories=", "fsync=off", "max_connections=60",
			"shared_buffers=32MB", "wal_keep_size=256MB", "log_statement=none", "autovacuum=off",
		}, settings...) {
			args = append(args, "-c", setting)
		}
		cmd := exec.Command(postgres, args...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as}
		cmd.Dir = dir
		return cmd
	}
	p.cleanup(t)
	return p
}

// run runs one of PostgreSQL's programs to its end.
func (p *Postgres) run(t testing.TB, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(filepath.Join(p.bin, name), args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: p.as}
	cmd.Dir = filepath.Dir(p.data)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
}

func (p *Postgres) start(t testing.TB) {
	t.Helper()
	p.launch(t)
	p.ready(t, func() error { return p.Exec(t.Context(), "SELECT 1") })
}

// DSN is the server's, as its superuser.
func (p *Postgres) DSN() string { return PostgresDSN(p.Addr()) }

// Addr is where it listens.
func (p *Postgres) Addr() string { return fmt.Sprintf("127.0.0.1:%d", p.Port) }

// PostgresDSN is the superuser's at the address, or addresses with commas
// between them.
func PostgresDSN(addr string) string {
	return (&url.URL{Scheme: "postgres", User: url.User("postgres"), Host: addr, Path: "postgres",
		RawQuery: "sslmode=disable&connect_timeout=5"}).String()
}

// Exec runs statements on a connection of its own.
func (p *Postgres) Exec(ctx context.Context, statements string) error {
	conn, err := pgx.Connect(ctx, p.DSN())
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	_, err = conn.PgConn().Exec(ctx, statements).ReadAll()
	return err
}

// Text is the first column of the first row of a query, on a connection of its
// own.
func (p *Postgres) Text(ctx context.Context, query string) (text string, err error) {
	conn, err := pgx.Connect(ctx, p.DSN())
	if err != nil {
		return "", err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	results, err := conn.PgConn().Exec(ctx, query).ReadAll()
	if err != nil {
		return "", err
	}
	if len(results) == 0 || len(results[0].Rows) == 0 {
		return "", pgx.ErrNoRows
	}
	return string(results[0].Rows[0][0]), nil
}

// Set changes a setting of the running server.
func (p *Postgres) Set(t testing.TB, name, value string) {
	t.Helper()
	for _, statement := range []string{
		fmt.Sprintf("ALTER SYSTEM SET %s = '%s'", name, strings.ReplaceAll(value, "'", "''")),
		"SELECT pg_reload_conf()",
	} {
		if err := p.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	Until(t, name+" is "+value, func() bool {
		now, err := p.Text(t.Context(), "SELECT current_setting('"+name+"')")
		return err == nil && now == value
	}, nil)
}

// Stop ends the server in its mode "fast": sessions are closed.
func (p *Postgres) Stop(t testing.TB) {
	t.Helper()
	p.end(t, syscall.SIGINT)
}

// StopNow is its mode "immediate": the next start recovers.
func (p *Postgres) StopNow(t testing.TB) {
	t.Helper()
	p.end(t, syscall.SIGQUIT)
}

// Start starts a server that was stopped or killed, on the same port.
func (p *Postgres) Start(t testing.TB) {
	t.Helper()
	_ = os.Remove(filepath.Join(p.data, "postmaster.pid")) // of a killed one; its number may be in use
	p.start(t)
}
