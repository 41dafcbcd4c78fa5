package mysql

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
)

// What a routine sets lasts no longer than the effect that called it.
func TestSessionRestored(t *testing.T) {
	s := newShop(t)
	must(t, s.raw, `CREATE PROCEDURE dirty() BEGIN
		SET SESSION autocommit = 0, completion_type = 1, foreign_key_checks = 0, sql_select_limit = 0, time_zone = '+03:00';
		SET NAMES gbk;
		SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED; END`)
	read := `SELECT CONCAT_WS(' ', @@autocommit + 0, @@unique_checks + 0, @@completion_type, @@foreign_key_checks, @@sql_select_limit, @@time_zone, @@sql_mode,
		@@character_set_client, @@character_set_results, @@collation_connection, @@` + isolation(t, s.raw) + `) LIMIT 1`
	db := opened(t, s.cfg, Options{Connections: 1})
	want := column(t, db.pool, read)[0]
	if !strings.HasSuffix(want, "READ-COMMITTED") {
		t.Fatal(want)
	}
	for _, fails := range []error{nil, errors.New("no")} {
		for _, key := range []string{"k", "other"} {
			err := run(db, key, func(ctx context.Context, tx Tx) (refrain.Result, error) {
				if _, err := tx.ExecContext(ctx, "CALL dirty()"); err != nil {
					t.Error(err)
				}
				return made, fails
			})
			if !errors.Is(err, fails) {
				t.Error(err)
			}
		}
		if got := column(t, db.pool, read)[0]; got != want {
			t.Errorf("after an effect with the error %v: %s, want %s", fails, got, want)
		}
		must(t, s.raw, `DELETE FROM refrain_record`)
	}
}

// A record that nobody has committed is not replayed, whatever the session's
// isolation.
func TestUncommittedRecord(t *testing.T) {
	s := newShop(t)
	must(t, s.raw, `CREATE PROCEDURE report() BEGIN SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED; SELECT count(*) FROM effects; END`)
	for name, open := range kinds {
		db := open(t, s.cfg, Options{Connections: 1})
		db.pool.SetMaxOpenConns(1)
		mustBuy(t, db, order("known"+name))
		err := run(db, "report"+name, func(ctx context.Context, tx Tx) (refrain.Result, error) {
			rows, err := tx.QueryContext(ctx, "CALL report()")
			if err == nil {
				err = rows.Close()
			}
			return made, err
		})
		if err != nil {
			t.Fatal(err)
		}
		other := s.begin(t, sql.LevelReadCommitted)
		if _, err := db.ExecuteIn(t.Context(), other, order("k"+name), buys("k"+name)); err != nil {
			t.Fatal(err)
		}
		call := order("k" + name)
		call.Wait = -1
		_, err = db.Execute(t.Context(), call, buys("again"))
		wantRow(t, err, "6a", refrain.ErrInProgress)
		seen, _, err := db.Load(t.Context(), identityOf(t, call))
		if err != nil || seen.Record != nil {
			t.Errorf("%s: Load: %+v, %v", name, seen.Record, err)
		}
		tx := s.begin(t, sql.LevelReadUncommitted)
		_, err = db.ExecuteIn(t.Context(), tx, call, buys("again"))
		wantRow(t, err, "6a", refrain.ErrInProgress)
		if err := errors.Join(tx.Commit(), other.Rollback()); err != nil {
			t.Error(err)
		}
		if out, err := db.Execute(t.Context(), call, buys("k"+name)); err != nil || out.Replayed {
			t.Errorf("%s: %+v, %v", name, out, err)
		}
	}
	s.wants(t, "knownNew", "knownOpen", "kNew", "kOpen")
}

// A routine sets the session's clock, which then stands. Records are of the
// server's time all the same.
func TestStandingClock(t *testing.T) {
	s := newShop(t)
	must(t, s.raw, `CREATE PROCEDURE past() SET @@SESSION.timestamp = 1000000`)
	for name, open := range kinds {
		db := open(t, s.cfg, Options{Connections: 1})
		db.pool.SetMaxOpenConns(1)
		past := func(ctx context.Context, tx Tx) (refrain.Result, error) {
			_, err := tx.ExecContext(ctx, "CALL past()")
			return made, err
		}
		near := func(what string, at time.Time) {
			if off := time.Since(at); off < -time.Minute || off > time.Minute {
				t.Errorf("%s: %s: %v", name, what, at)
			}
		}
		for _, key := range []string{"one", "two"} {
			out, err := db.Execute(t.Context(), order(name+key), past)
			if err != nil {
				t.Fatal(err)
			}
			rec, err := db.Find(t.Context(), out.Ref)
			if err != nil {
				t.Fatal(err)
			}
			near("created", rec.Created)
		}
		_, now, err := db.Load(t.Context(), identityOf(t, order("none")))
		if err != nil {
			t.Error(err)
		}
		near("Load", now)
	}
}
