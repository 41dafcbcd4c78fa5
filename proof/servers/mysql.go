//go:build linux

package servers

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// StartMySQL starts MySQL itself with an empty database test: the mysqld below
// the folder that mysql-from-sid.sh filled and REFRAIN_MYSQL_ROOT names, run
// through the loader that came with it. Without one the test is skipped, also
// where services are required: no stable Debian has it.
func StartMySQL(t testing.TB, settings ...string) *MariaDB {
	t.Helper()
	root := os.Getenv("REFRAIN_MYSQL_ROOT")
	if root == "" {
		t.Skip("skipped: REFRAIN_MYSQL_ROOT names no folder of mysql-from-sid.sh")
	}
	loaders, _ := filepath.Glob(filepath.Join(root, "usr/lib/*/ld-linux-*.so.*"))
	if len(loaders) == 0 {
		t.Fatalf("REFRAIN_MYSQL_ROOT has no loader")
	}
	as := account(t, "mysql")
	m, dir := newMariaDB(t, "", "mysql", as)
	data := filepath.Join(dir, "data")
	server := func(more ...string) *exec.Cmd {
		cmd := exec.Command(loaders[0], append([]string{
			"--library-path", filepath.Dir(loaders[0]) + ":" + filepath.Join(root, "usr/lib/mysql/private"),
			filepath.Join(root, "usr/sbin/mysqld"), "--no-defaults", "--basedir=" + filepath.Join(root, "usr"), "--datadir=" + data,
			"--secure-file-priv=", "--lc-messages-dir=" + filepath.Join(root, "usr/share/mysql"), "--innodb-redo-log-capacity=16M",
		}, more...)...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as}
		cmd.Dir = dir
		return cmd
	}
	if out, err := server("--initialize-insecure").CombinedOutput(); err != nil {
		t.Fatalf("mysqld --initialize-insecure: %v\n%s", err, out)
	}
	m.build = func() *exec.Cmd { return server(m.settings(dir, append([]string{"--mysqlx=OFF"}, settings...))...) }
	m.start(t)
	if err := m.Exec(t.Context(), "CREATE DATABASE test"); err != nil {
		t.Fatal(err)
	}
	return m
}
