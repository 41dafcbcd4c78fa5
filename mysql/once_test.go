package mysql

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

// once takes a value of the rule "seat" beside a row.
func once(db *DB, value string) effect {
	return func(ctx context.Context, tx Tx) (refrain.Result, error) {
		err := db.Once(ctx, tx, "seat", value)
		if err == nil {
			_, err = buys(value)(ctx, tx)
		}
		return made, err
	}
}

// A value is taken with the effect's transaction, for ever, and one that is taken
// spoils nothing.
func TestOnceInAnEffect(t *testing.T) {
	for name, open := range kinds {
		for _, level := range levels {
			s := newShop(t)
			now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
			db := open(t, s.cfg, Options{Isolation: level, Now: func() time.Time { return now }})
			failed := errors.New("no")
			if err := run(db, "undone", func(ctx context.Context, tx Tx) (refrain.Result, error) {
				_, _ = once(db, "1")(ctx, tx)
				return refrain.Result{}, failed
			}); !errors.Is(err, failed) {
				t.Fatal(err)
			}
			out, err := db.Execute(t.Context(), order("first"), once(db, "1"))
			if err != nil {
				t.Fatalf("%s: %v", level, err)
			}
			if err := run(db, "second", once(db, "1")); !errors.Is(err, refrain.ErrTaken) {
				t.Errorf("%s: the second: %v", level, err)
			}
			if err := run(db, "goes on", func(ctx context.Context, tx Tx) (refrain.Result, error) {
				if err := db.Once(ctx, tx, "seat", "1"); !errors.Is(err, refrain.ErrTaken) {
					t.Errorf("%s: within: %v", level, err)
				}
				if err := db.Once(ctx, tx, "other", "1"); err != nil {
					t.Errorf("%s: of another rule: %v", level, err)
				}
				return buys("goes on")(ctx, tx)
			}); err != nil {
				t.Errorf("%s: %v", level, err)
			}
			all, err := db.Onces(t.Context(), upkeep.OnceQuery{Rule: "seat"})
			if want := (upkeep.Once{Rule: "seat", Value: "1", Ref: out.Ref, At: now}); err != nil || len(all) != 1 || all[0] != want {
				t.Errorf("%s: %+v, %v; want %+v", level, all, err, want)
			}
			now = now.Add(25 * time.Hour)
			if done, err := db.Reap(t.Context(), upkeep.Reap{}); err != nil || done.Forgotten != 2 {
				t.Errorf("%s: %+v, %v", level, done, err)
			}
			if err := run(db, "first", once(db, "1")); !errors.Is(err, refrain.ErrTaken) {
				t.Errorf("%s: after the memory: %v", level, err)
			}
			s.wants(t, "1", "goes on")
			if err := run(db, "direct", func(ctx context.Context, tx Tx) (refrain.Result, error) {
				_, err := tx.ExecContext(ctx, `DELETE FROM refrain_once`)
				return made, err
			}); !errors.Is(err, refrain.ErrOwned) {
				t.Errorf("%s %s: its table: %v", name, level, err)
			}
		}
	}
}

// Whoever comes second waits for the first, in an effect and in transactions of the
// caller's, and learns what became of it.
func TestOnceTogether(t *testing.T) {
	for _, level := range levels {
		for _, commits := range []bool{true, false} {
			s := newShop(t)
			db := opened(t, s.cfg, Options{Isolation: level})
			first := s.begin(t, level)
			if err := db.Once(t.Context(), first, "seat", "1"); err != nil {
				t.Fatal(err)
			}
			answers := make(chan error, 2)
			go func() { answers <- run(db, "second", once(db, "1")) }()
			third := s.begin(t, level)
			go func() {
				err := db.Once(t.Context(), third, "seat", "1")
				if err == nil {
					err = third.Commit()
				} else {
					_ = third.Rollback()
				}
				answers <- err
			}()
			s.awaitLockWait(t, 2)
			if commits {
				err := first.Commit()
				if err != nil {
					t.Fatal(err)
				}
			} else {
				_ = first.Rollback()
			}
			taken := 0
			for range 2 {
				switch err := await(t, answers, "an answer"); {
				case err == nil:
					taken++
				case !errors.Is(err, refrain.ErrTaken) && (commits || !errors.Is(err, refrain.ErrRetryTransaction)):
					t.Errorf("%s, commits=%t: %v", level, commits, err)
				}
			}
			if all, err := db.Onces(t.Context(), upkeep.OnceQuery{Rule: "seat"}); err != nil || len(all) != 1 || !commits && taken != 1 || commits && taken != 0 {
				t.Errorf("%s, commits=%t: %+v, %v; taken %d times", level, commits, all, err, taken)
			}
		}
	}
}

// In a transaction of the caller's, joined or without a key.
func TestOnceInTheCallersTransaction(t *testing.T) {
	s := newShop(t)
	db := opened(t, s.cfg, Options{})
	tx := s.begin(t, sql.LevelRepeatableRead)
	if _, err := db.ExecuteIn(t.Context(), tx, order("joined"), once(db, "1")); err != nil {
		t.Fatal(err)
	}
	if err := db.Once(t.Context(), tx, "seat", "2"); err != nil {
		t.Fatal(err)
	}
	for value, want := range map[string]error{"1": refrain.ErrTaken, "": upkeep.ErrOnce, strings.Repeat("x", 256): upkeep.ErrOnce} {
		if err := db.Once(t.Context(), tx, "seat", value); !errors.Is(err, want) {
			t.Errorf("%.10q: %v, want %v", value, err, want)
		}
	}
	if _, err := db.ExecuteIn(t.Context(), tx, order("taken"), once(db, "2")); !errors.Is(err, refrain.ErrTaken) {
		t.Errorf("joined: %v", err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := db.Once(t.Context(), s.raw, "seat", "3"); !errors.Is(err, errNoTransaction) {
		t.Errorf("on a pool: %v", err)
	}
	all, err := db.Onces(t.Context(), upkeep.OnceQuery{Rule: "seat", Limit: 1})
	if err != nil || len(all) != 1 || all[0].Value != "1" || all[0].Ref == "" {
		t.Errorf("%+v, %v", all, err)
	}
	all, err = db.Onces(t.Context(), upkeep.OnceQuery{Rule: "seat", After: "1"})
	if err != nil || len(all) != 1 || all[0].Value != "2" || all[0].Ref != "" || time.Since(all[0].At).Abs() > time.Minute {
		t.Errorf("%+v, %v", all, err)
	}
	if err := db.RemoveOnce(t.Context(), "seat", "1", "ops", "cancelled"); err != nil {
		t.Error(err)
	}
	if err := db.RemoveOnce(t.Context(), "seat", "1", "ops", "cancelled"); !errors.Is(err, record.ErrNotFound) {
		t.Errorf("removed twice: %v", err)
	}
	lines, err := db.Audits(t.Context(), "")
	if err != nil || len(lines) != 1 || lines[0].Action != "once-remove" || lines[0].Detail != "seat" || lines[0].Reason != "cancelled" {
		t.Errorf("audited %+v, %v", lines, err)
	}
	if err := run(db, "again", once(db, "1")); err != nil {
		t.Errorf("a value that is free again: %v", err)
	}
}

// A session whose clock stands takes a value at the time it is.
func TestOnceClockStands(t *testing.T) {
	s := newShop(t)
	db := opened(t, s.cfg, Options{})
	conn := mustConn(t, s.raw)
	if _, err := conn.ExecContext(t.Context(), `SET timestamp = 1000000000`); err != nil {
		t.Fatal(err)
	}
	tx, err := conn.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	if err := db.Once(t.Context(), tx, "seat", "1"); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if all, err := db.Onces(t.Context(), upkeep.OnceQuery{Rule: "seat"}); err != nil || len(all) != 1 || time.Since(all[0].At).Abs() > time.Minute {
		t.Errorf("%+v, %v", all, err)
	}
}
