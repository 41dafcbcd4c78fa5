//go:build linux

package serverfaults

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/proof/engines"
	"github.com/refrain-dev/refrain/proof/processes"
	"github.com/refrain-dev/refrain/proof/servers"
)

// TestServerLimits meets what a server refuses to do.
func TestServerLimits(t *testing.T) {
	each(t, map[string]func(*fault){
		"out of connections": func(f *fault) {
			f.must(f.engine.Close(context.WithoutCancel(f.Context())))
			f.engine = f.open(f.shop) // one without connections
			release := f.hog()
			f.refused("crowded", engines.Order{}, "9")
			f.unavailable()
			release()
			f.repaired()
		},
		"read-only": func(f *fault) {
			f.clerk("SELECT, INSERT, UPDATE, DELETE")
			f.run("ALTER ROLE clerk SET default_transaction_read_only = on", "SET GLOBAL read_only = ON")
			f.reconnect()
			f.refused("written", engines.Order{}, "9")
			f.ask("before", engines.Order{})
			f.run("ALTER ROLE clerk SET default_transaction_read_only = off", "SET GLOBAL read_only = OFF")
			f.reconnect()
			f.repaired()
		},
		"privileges missing": func(f *fault) {
			f.clerk("SELECT")
			f.refused("denied", engines.Order{}, "9")
			f.clerk("SELECT, INSERT, UPDATE, DELETE")
			f.repaired()
		},
		"statement timeout": func(f *fault) {
			f.clerk("SELECT, INSERT, UPDATE, DELETE")
			f.run("ALTER ROLE clerk SET statement_timeout = '200ms'", "SET GLOBAL max_statement_time = 0.2")
			f.reconnect()
			f.cut("slow", f.slow())
			f.run("ALTER ROLE clerk RESET statement_timeout", "SET GLOBAL max_statement_time = 0")
			f.reconnect()
			f.repaired()
		},
		"lock timeout": func(f *fault) {
			f.run("CREATE TABLE "+f.shop.Table("stock")+" AS SELECT 1 AS n", "CREATE TABLE "+f.shop.Table("stock")+" AS SELECT 1 AS n")
			f.clerk("SELECT, INSERT, UPDATE, DELETE")
			f.run("ALTER ROLE clerk SET lock_timeout = '200ms'", "SET GLOBAL innodb_lock_wait_timeout = 1")
			f.reconnect()
			release := f.lock("stock")
			f.cut("locked", "UPDATE "+f.shop.Table("stock")+" SET n = n + 1")
			release()
			f.run("ALTER ROLE clerk RESET lock_timeout", "SET GLOBAL innodb_lock_wait_timeout = 50")
			f.repaired()
		},
		"clocks off": func(f *fault) { f.clocks() },
	})
}

// cut asks for an order whose effect has a statement that the server cuts short.
// An engine may call that the effect's failure: the effect decides what it asks
// for.
func (f *fault) cut(key, statement string) {
	f.Helper()
	_, err := f.ask(key, engines.Order{Before: []string{statement}})
	if f.kind.MySQL && engines.Row(err) != "9" || !errors.Is(err, refrain.ErrEffectFailed) && engines.Row(err) != "9" {
		f.Errorf("%s: row %q, %v", key, engines.Row(err), err)
	}
	f.Logf("row %s: %v", engines.Row(err), err)
}

func (f *fault) slow() string {
	if f.kind.MySQL {
		return "SELECT COUNT(*) FROM information_schema.columns a, information_schema.columns b, information_schema.columns c"
	}
	return "SELECT pg_sleep(2)"
}

// hog takes all connections of the server.
func (f *fault) hog() (release func()) {
	f.Helper()
	raw := f.handle()
	var conns []*sql.Conn
	for {
		conn, err := raw.Conn(f.Context())
		if err != nil {
			break
		}
		f.must(conn.PingContext(f.Context()))
		conns = append(conns, conn)
	}
	if len(conns) < 10 {
		f.Fatalf("the server takes %d connections", len(conns))
	}
	return func() {
		for _, conn := range conns {
			_ = conn.Close()
		}
		_ = raw.Close()
	}
}

// lock holds every row of a table.
func (f *fault) lock(table string) (release func()) {
	f.Helper()
	raw := f.handle()
	tx, err := raw.BeginTx(f.Context(), nil)
	f.must(err)
	_, err = tx.Exec("UPDATE " + f.shop.Table(table) + " SET n = n + 0")
	f.must(err)
	return func() {
		f.must(tx.Rollback())
		f.must(raw.Close())
	}
}

// handle is a pool past the engine.
func (f *fault) handle() *sql.DB {
	driver := "pgx"
	if f.kind.MySQL {
		driver = "mysql"
	}
	raw, err := sql.Open(driver, f.shop.DSN(""))
	f.must(err)
	return raw
}

// clerk makes the engine's user one who may do no more than is granted.
func (f *fault) clerk(rights string) {
	f.Helper()
	schema := f.shop.Place().Name
	if f.kind.MySQL {
		f.run("", "CREATE USER IF NOT EXISTS clerk@'%'")
		f.run("", "DELETE FROM mysql.db WHERE User = 'clerk'")
		f.run("", "FLUSH PRIVILEGES")
		f.run("", "GRANT "+rights+" ON "+schema+".* TO clerk@'%'")
		f.run("", "GRANT INSERT, SELECT ON "+f.shop.Table("orders")+" TO clerk@'%'")
	} else {
		f.run(`DO $$ BEGIN CREATE ROLE clerk LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$`, "")
		f.run("GRANT USAGE ON SCHEMA "+schema+" TO clerk", "")
		f.run("REVOKE ALL ON ALL TABLES IN SCHEMA "+schema+" FROM clerk", "")
		f.run("GRANT "+rights+" ON ALL TABLES IN SCHEMA "+schema+" TO clerk", "")
		f.run("GRANT INSERT, SELECT ON "+f.shop.Table("orders")+" TO clerk", "")
	}
	f.reconnect()
}

// reconnect opens the engine anew as the clerk.
func (f *fault) reconnect() {
	f.Helper()
	f.must(f.engine.Close(context.WithoutCancel(f.Context())))
	f.engine = f.open(f.shop.As("clerk"))
}

// clocks runs applications whose clocks are five minutes off.
func (f *fault) clocks() {
	off := 5 * time.Minute
	at := func(d time.Duration) *engines.Engine {
		return f.shop.Open(f, "", 2, engines.Options{Now: func() time.Time { return time.Now().Add(d) }})
	}
	fast, slow := at(off), at(-off)
	servers := []*engines.Engine{f.engine, fast, slow}
	for i, first := range servers {
		for j, second := range servers {
			key := engines.Timed(time.Now(), i*10+j)
			f.asked = append(f.asked, key)
			out, err := first.Do(f.Context(), call(key), engines.Order{Token: key})
			f.must(err)
			f.acked[key] = out
			again, err := second.Do(f.Context(), call(key), engines.Order{Token: key + "/again"})
			if err == nil {
				err = engines.Same(again, out)
			}
			if err != nil {
				f.Errorf("clock %d after clock %d: %v", j, i, err)
			}
		}
	}
	for _, tt := range []struct {
		ahead time.Duration
		row   string
	}{{off - time.Minute, ""}, {-off, ""}, {off + time.Minute, "2b"}} {
		key := engines.Timed(time.Now().Add(tt.ahead), 99)
		out, err := f.engine.Do(f.Context(), call(key), engines.Order{Token: key})
		if engines.Row(err) != tt.row {
			f.Errorf("a key born %v ahead: row %q, %v", tt.ahead, engines.Row(err), err)
		}
		if err == nil {
			f.asked = append(f.asked, key)
			f.acked[key] = out
			if d := time.Since(out.CreatedAt); d < -time.Minute || d > time.Minute { // the server's clock, which is this machine's
				f.Errorf("created %v ago", d)
			}
		}
	}
	f.repaired()
}

// TestSchema meets tables that are missing, or of a later version.
func TestSchema(t *testing.T) {
	for _, kind := range kinds() {
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			s := launch(t, kind, "")
			missing := engines.Bare(t, kind, s.DSN())
			f := &fault{T: t, kind: kind, server: s, shop: missing, acked: make(map[string]refrain.Outcome)}
			f.engine = f.open(missing)
			if err := f.refused("early", engines.Order{}, "9"); !errors.Is(err, refrain.ErrNotMigrated) {
				t.Errorf("missing tables are %v", err)
			}
			f.unavailable()
			f.must(f.engine.Migrate(t.Context()))
			f.repaired()

			f = newFault(t, kind, s)
			f.run("INSERT INTO "+f.shop.Table("migration")+" VALUES (99, 'later', 0)", "INSERT INTO "+f.shop.Table("refrain_migration")+" VALUES (99, 'later', 0)")
			if err := f.engine.Migrate(t.Context()); !errors.Is(err, refrain.ErrNewerSchema) {
				t.Errorf("a later version is %v", err)
			}
			if status, err := f.engine.MigrationStatus(t.Context()); err != nil || !errors.Is(status.Check(), refrain.ErrNewerSchema) {
				t.Errorf("%+v, %v", status, err)
			}
			f.run("DELETE FROM "+f.shop.Table("migration")+" WHERE version = 99", "DELETE FROM "+f.shop.Table("refrain_migration")+" WHERE version = 99")
			f.repaired()
		})
	}
}

// TestDiskFull fills the server's disk while orders are placed.
func TestDiskFull(t *testing.T) {
	processes.Heavy(t)
	for _, kind := range kinds() {
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			disk := servers.SmallDisk(t, 320<<20)
			f := newFault(t, kind, launch(t, kind, disk))
			f.run("CREATE TABLE "+f.shop.Table("files")+" (body text)", "CREATE TABLE "+f.shop.Table("files")+" (body LONGTEXT)")
			large := "INSERT INTO " + f.shop.Table("files") + " SELECT string_agg(md5(n::text), '') FROM generate_series(1, 60000) n"
			if kind.MySQL {
				large = "INSERT INTO " + f.shop.Table("files") + " VALUES (REPEAT('file', 500000))"
			}
			disk.Fill(t)
			full := false
			for n := 0; n < 60 && !full; n++ {
				_, err := f.ask(fmt.Sprintf("file-%d", n), engines.Order{Before: []string{large}})
				full = err != nil
				if row := engines.Row(err); full && row != "9" && row != "10" && row != "14" { // 14: the server waits for room
					t.Errorf("a full disk is row %q: %v", row, err)
				}
				if full {
					t.Logf("order %d: %v", n, err)
				}
			}
			if !full {
				t.Fatal("the disk does not become full")
			}
			f.ask("full", engines.Order{Before: []string{large}})
			disk.Free(t)
			f.repaired()
		})
	}
}
