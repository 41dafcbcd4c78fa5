package orms

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/postgres"
	"github.com/refrain-dev/refrain/proof/servers"
)

// Somebody cancels COMMIT's wait for a standby that is not there. PostgreSQL
// calls that a success with a warning; no handle may, whether it hears the
// warning or not, nor may a replay. When the standby is no longer waited for, the
// effect turns out to have happened once.
func TestCancelledWaitForStandby(t *testing.T) {
	server := servers.StartPostgres(t, "")
	for name, tt := range map[string]struct {
		open  func(dsn string) (*sql.DB, error)
		hears bool
	}{
		"hears": {func(dsn string) (*sql.DB, error) {
			config, err := pgx.ParseConfig(dsn + "&client_min_messages=error") // the warning is asked for
			if err != nil {
				return nil, err
			}
			postgres.ConfigureSQL(config)
			return stdlib.OpenDB(*config), nil
		}, true},
		"pgx":    {func(dsn string) (*sql.DB, error) { return sql.Open("pgx", dsn) }, false},
		"lib/pq": {func(dsn string) (*sql.DB, error) { return sql.Open("postgres", dsn) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			pool, err := tt.open(server.DSN())
			must(t, err)
			defer pool.Close()
			pool.SetMaxOpenConns(4)
			s := shop{pool: pool}
			s.SQL, err = postgres.NewSQL(pool, postgres.Options{Schema: name})
			must(t, err)
			defer s.Close(context.Background())
			must(t, s.Migrate(t.Context()))
			must(t, s.Register(t.Context(), call("k").Contract))
			_, err = pool.Exec(`DROP TABLE IF EXISTS orders; CREATE TABLE orders (item text PRIMARY KEY)`)
			must(t, err)
			server.Set(t, "synchronous_standby_names", "nobody")
			defer server.Set(t, "synchronous_standby_names", "") // or Close waits for the standby
			servers.Until(t, "the setting is seen", func() bool { return standbys(t, s) == "nobody" }, nil)

			c := call("k")
			c.Contract.CommitWait = 3 * time.Second
			runs := 0
			told := make(chan error, 1)
			go func() {
				_, err := s.Execute(context.Background(), c, func(ctx context.Context, tx refrain.SQLTx) (refrain.Result, error) {
					runs++
					return inserts("k")(ctx, tx)
				})
				told <- err
			}()
			const waiting = `FROM pg_stat_activity WHERE wait_event = 'SyncRep'`
			servers.Until(t, "COMMIT waits", func() bool { n, _ := server.Text(t.Context(), `SELECT count(*) `+waiting); return n == "1" }, nil)
			must(t, server.Exec(t.Context(), `SELECT pg_cancel_backend(pid) `+waiting))
			if err := <-told; !errors.Is(err, refrain.ErrCommitUnknown) {
				t.Errorf("Execute: %v, want %v", err, refrain.ErrCommitUnknown)
			}
			s.want(t, "k") // visible, and no standby has it
			short, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			if out, err := s.Execute(short, c, inserts("twice")); err == nil {
				t.Errorf("a repeat was answered: %+v", out)
			}
			if hears := doctorHears(t, s); hears != tt.hears {
				t.Errorf("the doctor says that the handle hears: %t, want %t", hears, tt.hears)
			}
			// Joined by a transaction that only reads, it is told by that one's COMMIT.
			tx, err := pool.BeginTx(context.Background(), nil)
			must(t, err)
			if out, err := s.ExecuteIn(t.Context(), tx, c, inserts("twice")); err != nil || !out.Replayed {
				t.Errorf("ExecuteIn = %+v, %v", out, err)
			}
			var pid string
			must(t, tx.QueryRow(`SELECT pg_backend_pid()::text`).Scan(&pid))
			ended := make(chan error, 1)
			go func() { ended <- tx.Commit() }()
			servers.Until(t, "the caller's COMMIT waits", func() bool {
				n, _ := server.Text(t.Context(), `SELECT count(*) `+waiting+` AND pid = `+pid)
				return n == "1" || len(ended) > 0
			}, nil)
			if len(ended) > 0 {
				t.Error("the caller's COMMIT does not wait")
			}
			server.Set(t, "synchronous_standby_names", "")
			must(t, <-ended)
			servers.Until(t, "nobody is waited for", func() bool { return standbys(t, s) == "" }, nil)
			out, err := s.Execute(t.Context(), c, inserts("twice"))
			if err != nil || !out.Replayed || runs != 1 {
				t.Errorf("afterwards: %+v, %v after %d runs", out, err, runs)
			}
			s.want(t, "k")
		})
	}
}

// standbys reads the setting on every connection a call may get.
func standbys(t *testing.T, s shop) (value string) {
	t.Helper()
	must(t, s.pool.QueryRowContext(t.Context(), `SHOW synchronous_standby_names`).Scan(&value))
	return value
}

func doctorHears(t *testing.T, s shop) bool {
	t.Helper()
	checks, err := s.Doctor(t.Context())
	must(t, err)
	for _, check := range checks {
		if check.Setting == "synchronous_standby_names" {
			return check.OK
		}
	}
	t.Fatal("the doctor does not look at synchronous_standby_names")
	return false
}
