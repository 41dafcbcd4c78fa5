package mysql

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/upkeep"
)

// A duplicate of the effect's own, whose value is a client's text, is no lost
// race.
func TestForeignDuplicate(t *testing.T) {
	s := newShop(t)
	const text = "x' for key 'refrain_record.refrain_record_hash"
	must(t, s.raw, `CREATE TABLE mail (email VARCHAR(100) PRIMARY KEY)`)
	if _, err := s.raw.Exec(`INSERT INTO mail VALUES (?)`, text); err != nil {
		t.Fatal(err)
	}
	for name, open := range kinds {
		db := open(t, s.cfg, Options{})
		runs := 0
		enters := func(ctx context.Context, tx Tx) (refrain.Result, error) {
			runs++
			_, err := tx.ExecContext(ctx, "INSERT INTO mail VALUES (?)", text)
			return made, err
		}
		if err := run(db, "k", enters); number(err) != errDuplicate || runs != 1 {
			t.Errorf("%s: %d runs, %v", name, runs, err)
		}
		_, err := db.ExecuteIn(t.Context(), s.begin(t, sql.LevelReadCommitted), order("k"), enters)
		if number(err) != errDuplicate || errors.Is(err, refrain.ErrRetryTransaction) {
			t.Errorf("%s: ExecuteIn: %v", name, err)
		}
	}
}

// Who waits for a rekey, a reaper or a registration is told that the store is
// busy, and not that somebody else has the key.
func TestOperationHeld(t *testing.T) {
	s := newShop(t)
	if !mariaDB(t, s.raw) {
		t.Skip("a MySQL waits as long as the session's innodb_lock_wait_timeout")
	}
	cfg := s.cfg.Clone()
	cfg.Params = map[string]string{"innodb_lock_wait_timeout": "1"}
	for name, open := range kinds {
		db := open(t, cfg, Options{})
		mustBuy(t, db, order("known"+name))
		other := s.begin(t, sql.LevelReadCommitted)
		if _, err := other.Exec("SELECT * FROM refrain_operation FOR UPDATE"); err != nil {
			t.Fatal(err)
		}
		_, err := db.Execute(t.Context(), order("k"), buys("k"))
		wantRow(t, err, "9", refrain.ErrUnavailable)
		_, err = db.ExecuteIn(t.Context(), s.begin(t, sql.LevelReadCommitted), order("k"), buys("k"))
		wantRow(t, err, "9", refrain.ErrUnavailable)
		_ = other.Rollback()
	}
	s.wants(t, "knownNew", "knownOpen")
}

// A record is taken over while a reaper removes it, or while another process
// without locks takes it over, too: that is a lost race, to be run again.
func TestTakeOverRaces(t *testing.T) {
	for _, by := range []string{"reaper", "process"} {
		s := newShop(t)
		now := time.Now()
		o := Options{NoLock: true, Now: func() time.Time { return now }}
		db, beside := opened(t, s.cfg, o), opened(t, s.cfg, o)
		mustBuy(t, db, order("k"))
		now = now.Add(48 * time.Hour)
		runs := 0
		out, err := db.Execute(t.Context(), order("k"), func(ctx context.Context, tx Tx) (refrain.Result, error) {
			if runs++; runs == 1 && by == "reaper" {
				if done, err := db.Reap(context.Background(), upkeep.Reap{}); err != nil || done.Forgotten != 1 {
					t.Error(done, err)
				}
			} else if runs == 1 {
				mustBuy(t, beside, order("k"))
			}
			return buys("again")(ctx, tx)
		})
		if err != nil {
			t.Errorf("%s: %d runs, %v", by, runs, err)
		}
		if by == "reaper" {
			s.wants(t, "k", "again")
		} else if s.wants(t, "k", "k"); !out.Replayed {
			t.Error("the other process's record was not replayed")
		}
		s.receipts(t, 1)
	}
}
