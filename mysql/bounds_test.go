package mysql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"testing"
	"time"

	driverlib "github.com/go-sql-driver/mysql"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

// Whoever needs an operation's row that somebody holds is told so after Busy, and
// at once when ctx ends.
func TestUpkeepIsBounded(t *testing.T) {
	now := time.Now()
	longer := order("k") // another contract than the one that is stored
	longer.Contract.RememberFor += time.Hour
	for name, open := range kinds {
		s := newShop(t)
		db := open(t, s.cfg, Options{Busy: patience, Now: func() time.Time { return now }})
		rec := attempt(t, db, order("k"+name))
		mustBuy(t, db, order("old"+name))
		now = now.Add(48 * time.Hour)
		other := s.begin(t, sql.LevelReadCommitted)
		for _, table := range []string{"refrain_operation", "refrain_record"} {
			if _, err := other.Exec("SELECT * FROM " + table + " FOR UPDATE"); err != nil {
				t.Fatal(err)
			}
		}
		db.opts.Busy = 300 * time.Millisecond
		for what, call := range map[string]func(context.Context) error{
			"Register": func(ctx context.Context) error { return db.Register(ctx, longer.Contract) },
			"Reap":     func(ctx context.Context) error { _, err := db.Reap(ctx, upkeep.Reap{}); return err },
			"Rekey": func(ctx context.Context) error {
				_, err := db.Rekey(ctx, Rekey{Operation: "orders.create", To: "orders.make", By: "me", Reason: "why"})
				return err
			},
			"Swap": func(ctx context.Context) error { _, err := db.Swap(ctx, *rec, *rec); return err },
		} {
			started := time.Now()
			wantRow(t, call(context.Background()), "9", refrain.ErrUnavailable)
			ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
			// The server may not know yet that the first reaper has left: a second one does nothing.
			if err := call(ctx); !errors.Is(err, context.DeadlineExceeded) && (what != "Reap" || err != nil) {
				t.Errorf("%s: %s: %v", name, what, err)
			}
			cancel()
			if took := time.Since(started); took > 10*time.Second {
				t.Fatalf("%s: %s took %v", name, what, took)
			}
		}
		_ = other.Rollback()
		db.opts.Busy = patience
		if err := db.Register(t.Context(), order("k").Contract); err != nil {
			t.Errorf("%s: afterwards: %v", name, err)
		}
	}
}

// A session's sql_select_limit cuts none of the engine's reads short.
func TestSelectLimit(t *testing.T) {
	for _, limit := range []string{"0", "2"} {
		s := newShop(t)
		cfg := s.cfg.Clone()
		cfg.Params = map[string]string{"sql_select_limit": limit}
		for name, open := range kinds {
			db := open(t, cfg, Options{})
			for i := range 5 {
				mustBuy(t, db, order(fmt.Sprint(name, i)))
			}
			if recs, err := db.List(t.Context(), record.Record{}, 100); err != nil || len(recs) != 5 {
				t.Errorf("%s: %d records, %v", name, len(recs), err)
			}
			if done, err := db.Rekey(t.Context(), Rekey{Operation: "orders.create", To: "orders.make", By: "me", Reason: "why"}); err != nil || done.Records != 5 {
				t.Errorf("%s: %+v, %v", name, done, err)
			}
			must(t, s.raw, `DELETE FROM refrain_record`, `DELETE FROM refrain_operation`)
		}
	}
}

// That another call meanwhile learns that there are no locks keeps nobody from
// releasing what it has.
func TestLockReleasedWithoutLocks(t *testing.T) {
	s := newShop(t)
	for name, open := range kinds {
		db := open(t, s.cfg, Options{})
		mustBuy(t, db, order("known"+name))
		for _, fails := range []error{errors.New("no"), nil} {
			err := run(db, "k"+name, func(context.Context, Tx) (refrain.Result, error) {
				db.noLock.Store(true)
				return made, fails
			})
			if !errors.Is(err, fails) {
				t.Error(err)
			}
			s.unlocked(t, order("k"+name))
			db.noLock.Store(false)
		}
	}
}

// Only GET_LOCK's own refusal ends the use of locks, and the doctor tells.
func TestLockRefused(t *testing.T) {
	other := &driverlib.MySQLError{Number: errNoSavepoint}
	if noSuchLock(other) || !noSuchLock(ofLock(true, fmt.Errorf("x: %w", other))) || noSuchLock(ofLock(true, &driverlib.MySQLError{Number: errDeadlock})) {
		t.Error("an error of another statement, or of another number, says that there are no locks")
	}
	s := newShop(t)
	db := opened(t, s.cfg, Options{})
	told := func() bool {
		checks, err := db.Doctor(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range checks {
			if c.Setting == "GET_LOCK" {
				return !c.OK
			}
		}
		return false
	}
	if told() {
		t.Error("told before")
	}
	db.noLock.Store(true)
	if !told() {
		t.Error("not told")
	}
	usable(t, db)
}

// The driver's maxAllowedPacket is not the server's.
func TestSmallDriverPacket(t *testing.T) {
	s := newShop(t)
	cfg := s.cfg.Clone()
	cfg.MaxAllowedPacket = 64 << 10
	db := opened(t, cfg, Options{})
	for _, n := range []int{20 << 10, 40 << 10, 63 << 10, 100 << 10, 700 << 10} {
		c := order(fmt.Sprint(n))
		_, err := db.Execute(t.Context(), c, func(context.Context, Tx) (refrain.Result, error) {
			return refrain.Result{Body: make([]byte, n)}, nil
		})
		if err != nil {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

// A server that does not answer is told of after Busy, whatever the caller's
// patience, and is not dialled again and again.
func TestServerPaused(t *testing.T) {
	for name, open := range kinds {
		s := newShop(t)
		p := newProxy(t, s.cfg)
		db := open(t, p.cfg, Options{Busy: patience})
		known := mustBuy(t, db, order("known"))
		db.opts.Busy = 1500 * time.Millisecond
		resume := p.pause(t)
		for what, call := range map[string]func() error{
			"Execute":  func() error { return run(db, "k", buys("k")) },
			"repeat":   func() error { return run(db, "known", buys("k")) },
			"Register": func() error { return db.Register(context.Background(), order("k").Contract) },
			"Find":     func() error { _, err := db.Find(context.Background(), known.Ref); return err },
		} {
			started := time.Now()
			if err := call(); err == nil {
				t.Errorf("%s: %s works", name, what)
			}
			if took := time.Since(started); took > (maxAttempts-2)*db.opts.Busy {
				t.Errorf("%s: %s took %v", name, what, took)
			}
		}
		resume()
		db.opts.Busy = patience
		if err := run(db, "k", buys("k")); err != nil {
			t.Errorf("%s: afterwards: %v", name, err)
		}
		s.wants(t, "k", "known")
	}
	if broken(context.DeadlineExceeded) || !broken(driver.ErrBadConn) {
		t.Error("a patience that ended is no broken connection")
	}
}

// COMMITs whose answers are lost again and again come to an end.
func TestDoubtsEnd(t *testing.T) {
	s := newShop(t)
	p := newProxy(t, s.cfg)
	db := opened(t, p.cfg, Options{})
	mustBuy(t, db, order("known"))
	runs := 0
	err := run(db, "k", func(ctx context.Context, tx Tx) (refrain.Result, error) {
		runs++
		p.cut(false, func() {})
		return buys("k")(ctx, tx)
	})
	wantRow(t, err, "14", refrain.ErrNotExecuted)
	if runs > maxAttempts {
		t.Errorf("%d runs", runs)
	}
	s.wants(t, "known")
}

// Close has closed what there was to close.
func TestCloseAfterCut(t *testing.T) {
	s := newShop(t)
	p := newProxy(t, s.cfg)
	db, err := Open(p.cfg.FormatDSN())
	if err != nil {
		t.Fatal(err)
	}
	mustBuy(t, db, order("k"))
	conn, err := db.pool.Conn(t.Context()) // and nothing is sent: the driver looks at it once more
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	p.sever()
	if err := db.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
