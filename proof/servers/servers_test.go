//go:build linux

package servers

import (
	"context"
	"database/sql"
	"errors"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server is what all kinds can do.
type server interface {
	Kill(t testing.TB)
	Pause(t testing.TB)
	Resume(t testing.TB)
	Start(t testing.TB)
	Stop(t testing.TB)
	Addr() string
	Exec(ctx context.Context, statement string) error
}

func TestServerSurvivesEverything(t *testing.T) {
	for name, start := range map[string]func(t *testing.T) server{
		"PostgreSQL": func(t *testing.T) server { return StartPostgres(t, "") },
		"MariaDB":    func(t *testing.T) server { return StartMariaDB(t, "") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t)
			must := func(statement string) {
				t.Helper()
				if err := s.Exec(t.Context(), statement); err != nil {
					t.Fatal(err)
				}
			}
			place := map[string]string{"PostgreSQL": "", "MariaDB": "test."}[name] + "kept"
			must("CREATE TABLE " + place + " (n integer)")

			s.Pause(t)
			waited, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			if err := s.Exec(waited, "INSERT INTO "+place+" VALUES (1)"); err == nil {
				t.Error("a paused server answered")
			}
			s.Resume(t)
			must("INSERT INTO " + place + " VALUES (2)")

			s.Kill(t)
			if conn, err := net.Dial("tcp", s.Addr()); err == nil {
				conn.Close()
				t.Error("a killed server listens")
			}
			s.Start(t)
			must("INSERT INTO " + place + " VALUES (3)")
			s.Stop(t)
			s.Start(t)
			must("DROP TABLE " + place)
		})
	}
}

// TestKillTakesTheBackends: a killed server's sessions do not run on.
func TestKillTakesTheBackends(t *testing.T) {
	t.Parallel()
	p := StartPostgres(t, "")
	pids := family(p.cmd.Process.Pid)
	if len(pids) < 3 {
		t.Fatalf("the server is %d processes", len(pids))
	}
	p.Kill(t)
	for _, pid := range pids {
		if alive(pid) {
			t.Errorf("process %d is left", pid)
		}
	}
}

func TestStandby(t *testing.T) {
	t.Parallel()
	p := StartPostgres(t, "")
	s := p.Standby(t, "second")
	p.Synchronous(t, "second")
	if err := p.Exec(t.Context(), "CREATE TABLE kept (n integer)"); err != nil {
		t.Fatal(err)
	}
	p.Kill(t)
	s.Promote(t)
	if err := s.Exec(t.Context(), "INSERT INTO kept VALUES (1)"); err != nil {
		t.Error(err)
	}
}

func TestPgBouncer(t *testing.T) {
	t.Parallel()
	p := StartPostgres(t, "")
	b := StartPgBouncer(t, p.Addr())
	through := &Postgres{Port: b.Port}
	one, err := through.Text(t.Context(), "SELECT 1")
	if err != nil || one != "1" {
		t.Errorf("%s, %v", one, err)
	}
}

func TestFullDisk(t *testing.T) {
	t.Parallel()
	disk := SmallDisk(t, 300<<20)
	p := StartPostgres(t, disk)
	if err := p.Exec(t.Context(), "CREATE TABLE kept AS SELECT 1 n"); err != nil {
		t.Fatal(err)
	}
	disk.Fill(t)
	if err := p.Exec(t.Context(), "CREATE TABLE more AS SELECT n, repeat('x', 1000) FROM generate_series(1, 100000) n"); err == nil {
		t.Error("a full disk took 100 MB")
	}
	disk.Free(t)
	if err := p.Exec(t.Context(), "INSERT INTO kept VALUES (2)"); err != nil {
		t.Error(err)
	}
}

// TestNothingIsLeft looks at what a failed test leaves behind.
func TestNothingIsLeft(t *testing.T) {
	var pid int
	var dir string
	var disk On
	t.Run("used", func(t *testing.T) {
		disk = SmallDisk(t, 300<<20)
		p := StartPostgres(t, disk)
		pid, dir = p.cmd.Process.Pid, filepath.Dir(p.data)
		p.Pause(t) // even so
	})
	if t.Skipped() || pid == 0 {
		t.Skip("no private server")
	}
	if err := syscall.Kill(pid, 0); err == nil && alive(pid) {
		t.Error("the server runs on")
	}
	for _, path := range []string{dir, string(disk)} {
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left: %v", path, err)
		}
	}
}

func TestMariaDSN(t *testing.T) {
	t.Parallel()
	m := StartMariaDB(t, "", "--max-connections=17")
	db, err := sql.Open("mysql", m.DSN())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var database string
	var connections int
	if err := db.QueryRow("SELECT database(), @@max_connections").Scan(&database, &connections); err != nil || database != "test" || connections != 17 {
		t.Errorf("%s, %d, %v", database, connections, err)
	}
}
