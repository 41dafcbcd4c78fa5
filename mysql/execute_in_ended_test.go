package mysql

import (
	"database/sql"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/upkeep"
)

// The caller's transaction is over, by a change of the schema it has made, or it
// never was: nothing is written.
func TestExecuteInEnded(t *testing.T) {
	s := newShop(t)
	for name, open := range kinds {
		db := open(t, s.cfg, Options{})
		mustBuy(t, db, order("known"+name))
		ended := s.begin(t, sql.LevelReadCommitted)
		if _, err := ended.Exec(`CREATE TABLE of_` + name + ` (id INT)`); err != nil {
			t.Fatal(err)
		}
		conn, err := s.raw.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for what, tx := range map[string]Tx{"ended": ended, "connection": conn, "handle": s.raw} {
			_, err := db.ExecuteIn(t.Context(), tx, order("k"+name), buys("k"+name))
			if again := errors.Is(err, refrain.ErrRetryTransaction); err == nil || again != (what == "ended") {
				t.Errorf("%s: %s: %v", name, what, err)
			}
			if what != "ended" && !errors.Is(err, errNoTransaction) {
				t.Errorf("%s: %s: %v", name, what, err)
			}
		}
		_ = conn.Close()
		if _, err := db.ExecuteIn(t.Context(), s.begin(t, sql.LevelReadCommitted), order("k"+name), buys("k"+name)); err != nil {
			t.Errorf("%s: afterwards: %v", name, err)
		}
	}
	s.wants(t, "knownNew", "knownOpen")
	s.receipts(t, 2)
}

// The transaction's view is older than a record and than its being forgotten: the
// view shows neither the record nor the horizon.
func TestExecuteInOlderThanReap(t *testing.T) {
	for _, learnt := range []bool{true, false} {
		s := newShop(t)
		now := time.Now()
		db := opened(t, s.cfg, Options{Now: func() time.Time { return now }})
		if learnt {
			mustBuy(t, db, order("known"))
		}
		tx := s.begin(t, sql.LevelRepeatableRead)
		var n int
		if err := tx.QueryRow("SELECT count(*) FROM effects").Scan(&n); err != nil {
			t.Fatal(err)
		}
		ms := now.UnixMilli()
		key := fmt.Sprintf("%08x-%04x-7abc-8abc-0123456789ab", ms>>16, ms&0xffff)
		mustBuy(t, db, order(key))
		now = now.Add(48 * time.Hour)
		if done, err := db.Reap(t.Context(), upkeep.Reap{}); err != nil || done.Forgotten == 0 {
			t.Fatal(done, err)
		}
		_, err := db.ExecuteIn(t.Context(), tx, order(key), buys("again"))
		if !errors.Is(err, refrain.ErrTooLate) && !errors.Is(err, refrain.ErrRetryTransaction) {
			t.Errorf("learnt=%t: %v", learnt, err)
		}
		if err := tx.Commit(); err != nil {
			t.Error(err)
		}
		if got := column(t, s.raw, `SELECT count(*) FROM effects WHERE id = 'again'`)[0]; got != "0" {
			t.Error("the effect was executed twice")
		}
	}
}
