package mysql

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"testing"
	"time"
	_ "time/tzdata"

	driverlib "github.com/go-sql-driver/mysql"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

// However an attempt ends, the lock of its identity is free and its connection
// is of use.
func TestLockIsReleased(t *testing.T) {
	s := newShop(t)
	for name, open := range kinds {
		db := open(t, s.cfg, Options{Connections: 1})
		for end, fn := range map[string]effect{
			"done":    buys("done"),
			"fails":   func(context.Context, Tx) (refrain.Result, error) { return made, errors.New("no") },
			"rejects": func(context.Context, Tx) (refrain.Result, error) { return refrain.Result{Rejected: true}, nil },
			"oversize": func(context.Context, Tx) (refrain.Result, error) {
				return refrain.Result{Body: make([]byte, 2<<20)}, nil
			},
			"commits": func(ctx context.Context, tx Tx) (refrain.Result, error) {
				_, err := tx.ExecContext(ctx, "COMMIT")
				return made, err
			},
			"panics": func(context.Context, Tx) (refrain.Result, error) { panic("boom") },
			"goes":   func(context.Context, Tx) (refrain.Result, error) { runtime.Goexit(); return made, nil },
		} {
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				defer func() { _ = recover() }()
				_ = run(db, name+end, fn)
			}()
			await(t, ended, end)
			s.unlocked(t, order(name+end))
		}
		_ = run(db, name+"done", buys("again")) // a replay
		s.unlocked(t, order(name+"done"))
		usable(t, db)
		must(t, s.raw, `DELETE FROM refrain_record`)
	}
}

// The connection's settings are the application's; what is stored and when does
// not depend on them.
func TestForeignSettings(t *testing.T) {
	s := newShop(t)
	far, err := time.LoadLocation("Asia/Tokyo")
	if err != nil {
		t.Fatal(err)
	}
	for name, open := range kinds {
		for setting, params := range map[string]map[string]string{
			"loose":  {"sql_mode": "''", "time_zone": "'+05:45'"},
			"ansi":   {"sql_mode": "'ANSI_QUOTES,PIPES_AS_CONCAT,NO_BACKSLASH_ESCAPES,STRICT_ALL_TABLES'", "time_zone": "'-11:00'"},
			"latin1": {"character_set_client": "latin1", "collation_connection": "latin1_german1_ci", "autocommit": "0", "completion_type": "'CHAIN'"},
		} {
			if name == "New" && setting == "latin1" {
				delete(params, "autocommit")      // its pool's own affair
				delete(params, "completion_type") // New refuses it
			}
			cfg := s.cfg.Clone()
			cfg.Params, cfg.ParseTime, cfg.Loc, cfg.ClientFoundRows = params, true, far, true
			db := open(t, cfg, Options{})
			c := order("\xff\x00'\"\\%_ \x1a" + name + setting)
			c.Actor = "caf\xe9'\\"
			result := refrain.Result{Body: []byte("\x00'\\\"\x1a\xfe"), Header: [][2]string{{"X", "\\'\xff"}}, Effect: "/o/'\\"}
			started := time.Now().Add(-time.Minute)
			out, err := db.Execute(t.Context(), c, func(ctx context.Context, tx Tx) (refrain.Result, error) {
				var at time.Time
				err := tx.QueryRowContext(ctx, `SELECT CAST('2026-01-02 03:04:05' AS DATETIME)`).Scan(&at)
				if err != nil || at.Location().String() != far.String() || at.Hour() != 3 {
					t.Errorf("%s, %s: the effect's own parseTime and loc: %v, %v", name, setting, at, err)
				}
				return result, nil
			})
			if err != nil || out.CreatedAt.Before(started) || time.Since(out.CreatedAt) < -time.Minute {
				t.Errorf("%s, %s: created %v, %v", name, setting, out.CreatedAt, err)
			}
			again, err := db.Execute(t.Context(), c, buys("again"))
			if err != nil || !again.Replayed || !bytes.Equal(again.Body, result.Body) || again.Effect != result.Effect || again.Actor != c.Actor ||
				len(again.Header) != 1 || again.Header[0] != result.Header[0] {
				t.Errorf("%s, %s: replayed %+v, %v", name, setting, again, err)
			}
		}
	}
	s.wants(t)
}

// Without GET_LOCK the unique key decides alone.
func TestNoLock(t *testing.T) {
	s := newShop(t)
	for name, open := range kinds {
		one, two := open(t, s.cfg, Options{NoLock: true}), open(t, s.cfg, Options{NoLock: true})
		mustBuy(t, one, order(name+" known"))
		running, release, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
		go func() {
			out, err := one.Execute(context.Background(), order(name), func(ctx context.Context, tx Tx) (refrain.Result, error) {
				select {
				case <-running:
				default:
					close(running)
				}
				<-release
				return buys(name+" one")(ctx, tx)
			})
			if err == nil && !out.Replayed {
				err = errors.New("not replayed")
			}
			ended <- err
		}()
		await(t, running, "the effect")
		if out, err := two.Execute(t.Context(), order(name), buys(name+" two")); err != nil || out.Replayed {
			t.Errorf("%s: %+v, %v", name, out, err)
		}
		close(release)
		if err := await(t, ended, "the first"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	s.wants(t, "New known", "New two", "Open known", "Open two")
}

func TestNotMigrated(t *testing.T) {
	cfg := database(t)
	for name, open := range kinds {
		db := open(t, cfg, Options{})
		err := run(db, "k", buys("k"))
		if !errors.Is(err, refrain.ErrNotMigrated) {
			t.Errorf("%s: %v", name, err)
		}
		wantRow(t, err, "9", refrain.ErrUnavailable)
	}
}

func TestOpenRefuses(t *testing.T) {
	for _, dsn := range []string{
		"root@tcp(127.0.0.1:3306)/", "root:secret@tcp(127.0.0.1:3306)/", "root@/test?collation=big5_chinese_ci", "nonsense",
	} {
		db, err := Open(dsn)
		if err == nil {
			t.Errorf("Open(%q) works", dsn)
			_ = db.Close(t.Context())
			continue
		}
		if bytes.Contains([]byte(err.Error()), []byte("secret")) {
			t.Errorf("the password is in %q", err)
		}
	}
}

// A server that cannot be reached, or whose idle connections are gone, is row 9
// or no matter at all.
func TestConnectionsGone(t *testing.T) {
	s := newShop(t)
	for name, open := range kinds {
		db := open(t, s.cfg, Options{})
		mustBuy(t, db, order(name))
		for _, id := range column(t, s.raw, `SELECT id FROM information_schema.processlist WHERE db = DATABASE() AND id <> CONNECTION_ID()`) {
			_, _ = s.raw.Exec("KILL " + id)
		}
		if err := run(db, name+" again", buys("again")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	cfg := s.cfg.Clone()
	cfg.Addr = "127.0.0.1:1"
	cfg.Logger = &driverlib.NopLogger{}
	db := opened(t, cfg, Options{})
	wantRow(t, run(db, "k", buys("k")), "9", refrain.ErrUnavailable)
	if _, _, err := db.Load(t.Context(), record.Identity{}); err == nil {
		t.Error("a lookup without a server is a miss")
	}
}
