package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/refrain-dev/refrain"
)

// configured is a handle of pgx's whose notices are heard.
func configured(url string) *sql.DB { return traced(url, nil) }

func traced(url string, tracer pgx.QueryTracer) *sql.DB {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		panic(err)
	}
	config.Tracer = tracer
	ConfigureSQL(config)
	return stdlib.OpenDB(*config)
}

// sized is a handle with that many connections.
func sized(driver string, n int) func(string) *sql.DB {
	return func(url string) *sql.DB {
		pool, err := sql.Open(driver, url)
		if err != nil {
			panic(err)
		}
		pool.SetMaxOpenConns(n)
		return pool
	}
}

// The herd of one key and a crowd of others share four connections, or one.
func TestSQLPool(t *testing.T) {
	for _, driver := range sqlDrivers {
		for _, conns := range []int{4, 1} {
			t.Run(fmt.Sprint(driver, conns), func(t *testing.T) {
				s := newSQLShop(t, driver, Options{}, sized(driver, conns))
				var runs atomic.Int32
				var fresh atomic.Int32
				var wg sync.WaitGroup
				send := func(key string) {
					out, err := s.Execute(t.Context(), keeperCall(key), func(ctx context.Context, tx SQLTx) (refrain.Result, error) {
						runs.Add(1)
						return s.put(key)(ctx, tx)
					})
					if err != nil {
						t.Errorf("%s: %v", key, err)
					}
					if !out.Replayed {
						fresh.Add(1)
					}
				}
				want := []string{"herd"}
				for range 64 {
					wg.Go(func() { send("herd") })
				}
				for i := range 16 {
					key := fmt.Sprintf("other %02d", i)
					want = append(want, key)
					wg.Go(func() { send(key) })
				}
				wg.Wait()
				if runs.Load() != 17 || fresh.Load() != 17 {
					t.Errorf("%d runs, %d fresh, want 17", runs.Load(), fresh.Load())
				}
				s.wantItems(t, want...)
			})
		}
	}
}

// A caller that holds the only connection joins its own transaction by it.
func TestSQLJoinsOnTheOnlyConnection(t *testing.T) {
	for _, driver := range sqlDrivers {
		t.Run(driver, func(t *testing.T) {
			s := newSQLShop(t, driver, Options{}, sized(driver, 1))
			tx, err := s.handle.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			for i := range 2 {
				out, err := s.ExecuteIn(t.Context(), tx, keeperCall("k"), s.put("k"))
				if err != nil || out.Replayed != (i == 1) {
					t.Fatalf("ExecuteIn = %+v, %v", out, err)
				}
			}
			s.opts.Busy = 100 * time.Millisecond
			if err := s.do(keeperCall("other"), s.put("other")); !errors.Is(err, refrain.ErrUnavailable) {
				t.Errorf("without a connection: %v, want %v", err, refrain.ErrUnavailable)
			}
			if _, _, err := s.Load(t.Context(), claimOf(t, keeperCall("k")).Identity); err == nil {
				t.Error("Load finds a connection")
			}
			if err := tx.Commit(); err != nil {
				t.Error(err)
			}
			s.wantItems(t, "k")
			s.wantReceipt(t, keeperCall("k"), true)
		})
	}
}

// statements counts what is sent.
type statements struct {
	mu  sync.Mutex
	all []string
}

func (s *statements) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, data.SQL)
	return ctx
}

func (s *statements) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (s *statements) count(work func()) (words []string) {
	s.mu.Lock()
	s.all = nil
	s.mu.Unlock()
	work()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, text := range s.all {
		words = append(words, strings.ToLower(strings.Fields(text)[0]))
	}
	return words
}

// The numbers of statements that the documentation of Execute says.
func TestSQLStatements(t *testing.T) {
	for _, timeout := range []string{"0", "60000"} {
		sent := new(statements)
		s := newSQLShop(t, "pgx", Options{}, func(url string) *sql.DB {
			return traced(url+"&options=-cstatement_timeout%3D"+timeout, sent)
		})
		for _, tt := range []struct{ key, want string }{
			{"first", "begin select insert insert with commit"},
			{"second", "begin select insert with commit"},
			{"second", "select"},
		} {
			got := sent.count(func() {
				if err := s.do(keeperCall(tt.key), s.put(tt.key)); err != nil {
					t.Error(err)
				}
			})
			if strings.Join(got, " ") != tt.want {
				t.Errorf("statement_timeout %s, %s: %q, want %q", timeout, tt.key, got, tt.want)
			}
		}
	}
}

func TestSQLIsNotMigrated(t *testing.T) {
	onSQL(t, func(t *testing.T, s *sqlShop) {
		other, err := NewSQL(s.handle, Options{Schema: s.opts.Schema + " of none"})
		if err != nil {
			t.Fatal(err)
		}
		if err := (&sqlShop{SQL: other}).do(keeperCall("k"), s.put("k")); !errors.Is(err, refrain.ErrNotMigrated) {
			t.Errorf("Execute: %v, want %v", err, refrain.ErrNotMigrated)
		}
		missing := func(ctx context.Context, tx SQLTx) (refrain.Result, error) {
			_, err := tx.ExecContext(ctx, `SELECT FROM refrain_no_such_table`)
			return done, err
		}
		if err := s.do(keeperCall("k"), missing); errors.Is(err, refrain.ErrNotMigrated) || !errors.Is(err, refrain.ErrEffectFailed) {
			t.Errorf("an effect's own missing table: %v, want %v", err, refrain.ErrEffectFailed)
		}
	})
}

func TestSQLClose(t *testing.T) {
	onSQL(t, func(t *testing.T, s *sqlShop) {
		running, release := make(chan struct{}), make(chan struct{})
		told := make(chan error, 1)
		go func() {
			told <- s.do(keeperCall("k"), func(ctx context.Context, tx SQLTx) (refrain.Result, error) {
				close(running)
				<-release
				return s.put("k")(ctx, tx)
			})
		}()
		<-running
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if err := s.Close(ended); !errors.Is(err, context.Canceled) {
			t.Errorf("Close with an effect under way: %v", err)
		}
		if err := s.do(keeperCall("late"), s.put("late")); !errors.Is(err, refrain.ErrUnavailable) {
			t.Errorf("after Close: %v, want %v", err, refrain.ErrUnavailable)
		}
		close(release)
		if err := <-told; err != nil {
			t.Error(err)
		}
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
		s.wantItems(t, "k")
	})
}

func TestNewSQLRefuses(t *testing.T) {
	if _, err := NewSQL(nil); err == nil {
		t.Error("NewSQL took no handle")
	}
	if _, err := NewSQL(new(sql.DB), Options{}, Options{}); err == nil {
		t.Error("NewSQL took two Options")
	}
}

// The doctor says whether the handle can hear.
func TestSQLDoctor(t *testing.T) {
	for name, open := range map[string]func(string) *sql.DB{"hears": configured, "deaf": sized("pgx", 1)} {
		s := newSQLShop(t, "pgx", Options{}, open)
		checks, err := s.Doctor(t.Context())
		if err != nil || len(checks) == 0 {
			t.Errorf("%s: %v, %v", name, checks, err)
		}
	}
}
