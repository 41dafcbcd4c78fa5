package postgres

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

// hushed silences the server for an engine, which is patient before and after: a
// slow machine is no silence.
func hushed(w *cable, busy *time.Duration) {
	*busy = 100 * time.Millisecond
	w.set(silent)
}

// soonEnough fails where work, which has no deadline, waits for a silent server.
func soonEnough(t *testing.T, w *cable, what string, work func() error) (err error) {
	t.Helper()
	late := time.AfterFunc(20*time.Second, func() {
		t.Errorf("%s waits for a silent server", what)
		w.burn()
	})
	err = work()
	late.Stop()
	w.burn()
	return err
}

// A server that does not answer holds nobody: before the effect it is row 9.
func TestSilence(t *testing.T) {
	var w cable
	s := newShop(t, Options{}, w.dress)
	patient := s.opts.Busy
	lasting := context.Background()
	fresh := func() error { return s.run(keeperCall("warm"), s.put("warm")) }
	if err := fresh(); err != nil {
		t.Fatal(err)
	}
	id := claimOf(t, keeperCall("warm")).Identity
	seen, _, err := s.Load(lasting, id)
	if err != nil {
		t.Fatal(err)
	}
	for name, work := range map[string]func() error{
		"a fresh action": func() error { return s.run(keeperCall("k"), s.put("k")) },
		"a repeat":       fresh,
		"Load":           func() error { _, _, err := s.Load(lasting, id); return err },
		"Find":           func() error { _, err := s.Find(lasting, seen.Record.Ref); return err },
		"Change": func() error {
			return s.Change(lasting, id, func(record.Seen, time.Time) (record.Edit, error) { return record.Edit{}, nil })
		},
		"ExecuteIn": func() error {
			w.set(healthy)
			tx, err := s.conns.Begin(lasting)
			if err != nil {
				return err
			}
			defer tx.Rollback(lasting)
			hushed(&w, &s.opts.Busy)
			_, err = s.ExecuteIn(lasting, tx, keeperCall("k"), s.put("k"))
			return err
		},
	} {
		if err := s.conns.Ping(lasting); err != nil { // an idle connection that is not known to be dead
			t.Fatal(err)
		}
		began := time.Now()
		hushed(&w, &s.opts.Busy)
		if err := soonEnough(t, &w, name, work); !errors.Is(err, errSilent) {
			t.Errorf("%s: %v, want %v", name, err, errSilent)
		} else if name != "Load" && name != "Find" && name != "Change" {
			wantRow(t, err, "9", refrain.ErrUnavailable)
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("%s took %v", name, took)
		}
		s.opts.Busy = patient
		s.wantIdle(t)
	}
	s.wantItems(t, "warm")
	if err := s.run(keeperCall("k"), s.put("k")); err != nil {
		t.Errorf("after all: %v", err)
	}
}

// Nor does an effect's own statement, on whatever context: that is row 14.
func TestSilenceInEffect(t *testing.T) {
	var w cable
	s := newShop(t, Options{}, w.dress)
	call := keeperCall("k")
	call.Contract.MaxExecution = 200 * time.Millisecond
	err := soonEnough(t, &w, "an effect", func() error {
		return s.run(call, func(ctx context.Context, tx Tx) (refrain.Result, error) {
			hushed(&w, &s.opts.Busy)
			return done, s.order(context.WithoutCancel(ctx), tx, "k")
		})
	})
	wantRow(t, err, "14", refrain.ErrNotExecuted)
	s.wantIdle(t)
	s.wantItems(t)
}

func TestSQLSilence(t *testing.T) {
	var w cable
	s := newSQLShop(t, "pgx", Options{}, func(url string) *sql.DB {
		config, err := pgx.ParseConfig(url)
		if err != nil {
			t.Fatal(err)
		}
		w.lay(config)
		ConfigureSQL(config)
		return stdlib.OpenDB(*config)
	})
	patient := s.opts.Busy
	fresh := func() error { return s.do(keeperCall("warm"), s.put("warm")) }
	if err := fresh(); err != nil {
		t.Fatal(err)
	}
	for name, work := range map[string]func() error{
		"a fresh action": func() error { return s.do(keeperCall("k"), s.put("k")) },
		"a repeat":       fresh,
	} {
		hushed(&w, &s.opts.Busy)
		if err := soonEnough(t, &w, name, work); err == nil {
			t.Errorf("%s: no error", name)
		} else {
			wantRow(t, err, "9", refrain.ErrUnavailable)
		}
		s.opts.Busy = patient
	}
	s.wantItems(t, "warm")
	if err := s.do(keeperCall("k"), s.put("k")); err != nil {
		t.Errorf("after all: %v", err)
	}
}

// Members of a group are told as well, whether their claims or their statements
// are not answered.
func TestGroupSilence(t *testing.T) {
	var w cable
	b := newGroupBed(t, Options{Busy: 2 * time.Second}, func(c *pgxpool.Config) { w.dress(c) })
	b.group.slowest = 50 * time.Millisecond
	b.warm(t)
	for name, effect := range map[string]batchEffect{
		"claims": b.returns("k"),
		"statements": func(ctx context.Context, batch *Batch) (record.Result, error) {
			if err := batch.Send(ctx); err != nil {
				return record.Result{}, err
			}
			batch.Queue(`SELECT 1`).QueryRow(func(row pgx.Row) error { return nil })
			if err := batch.Send(ctx); err != nil {
				return record.Result{}, err
			}
			w.set(silent)
			return b.returns("k")(ctx, batch)
		},
	} {
		if err := b.db.conns.Ping(t.Context()); err != nil {
			t.Fatal(err)
		}
		if name == "claims" {
			w.set(silent)
		}
		err := soonEnough(t, &w, name, func() error {
			_, err := b.group.Execute(context.Background(), groupCall(name), effect)
			return err
		})
		wantRow(t, err, "9", refrain.ErrUnavailable)
	}
	if n := b.effects(t)["k"]; n != 0 {
		t.Errorf("%d effects", n)
	}
}
