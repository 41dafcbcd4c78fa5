package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
)

// Transactions that have joined with identities of their own stand in nobody's
// way, although timed keys all go to one end of the index: neither do they wait
// for each other, nor does Execute for them.
func TestExecuteInNeighbours(t *testing.T) {
	for _, level := range levels[:2] {
		s := newShop(t)
		db := opened(t, s.cfg, Options{})
		mustBuy(t, db, order("known"))
		ms := time.Now().UnixMilli()
		key := func(n int) string { return fmt.Sprintf("%08x-%04x-7abc-8abc-%012x", ms>>16, ms&0xffff, n) }
		want := []string{"known"}
		var open []*sql.Tx
		started := time.Now()
		for n := range 4 {
			tx := s.begin(t, level)
			if _, err := db.ExecuteIn(t.Context(), tx, order(key(2*n)), buys(key(2*n))); err != nil {
				t.Errorf("%s: ExecuteIn beside %d others: %v", level, n, err)
			}
			if err := run(db, key(2*n+1), buys(key(2*n+1))); err != nil {
				t.Errorf("%s: Execute beside %d others: %v", level, n+1, err)
			}
			open, want = append(open, tx), append(want, key(2*n), key(2*n+1))
		}
		if took := time.Since(started); took > patience {
			t.Errorf("%s: took %v", level, took)
		}
		for _, tx := range open {
			if err := tx.Commit(); err != nil {
				t.Error(err)
			}
		}
		s.wants(t, want...)
	}
}

// The session waits for locks as long as it did before: in the effect, and after
// the call, however it ended.
func TestExecuteInKeepsPatience(t *testing.T) {
	s := newShop(t)
	db := opened(t, s.cfg, Options{})
	mustBuy(t, db, order("known"))
	holder := s.begin(t, sql.LevelReadCommitted)
	if _, err := db.ExecuteIn(t.Context(), holder, order("held"), buys("held")); err != nil {
		t.Fatal(err)
	}
	tx := s.begin(t, sql.LevelReadCommitted)
	patience := func(ctx context.Context, tx Tx) (seconds int) {
		if err := tx.QueryRowContext(ctx, `SELECT @@SESSION.innodb_lock_wait_timeout`).Scan(&seconds); err != nil {
			t.Error(err)
		}
		return seconds
	}
	if _, err := tx.Exec(`SET SESSION innodb_lock_wait_timeout = 7`); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"fresh", "known", "held"} {
		_, err := db.ExecuteIn(t.Context(), tx, order(key), func(ctx context.Context, tx Tx) (refrain.Result, error) {
			if got := patience(ctx, tx); got != 7 {
				t.Errorf("in the effect: %d s, want 7", got)
			}
			return made, nil
		})
		if key == "held" {
			wantRow(t, err, "6a", refrain.ErrInProgress)
		} else if err != nil {
			t.Error(err)
		}
		if got := patience(t.Context(), tx); got != 7 {
			t.Errorf("after %s: %d s, want 7", key, got)
		}
	}
}

// A late retry is noted, and that somebody else is noting the same one holds
// nobody up.
func TestExecuteInLateBesideLate(t *testing.T) {
	s := newShop(t)
	db := opened(t, s.cfg, Options{})
	must(t, s.raw, "INSERT INTO refrain_fence (operation, scope, until, reason, `by`, at) VALUES ('', '', 1767225600000000, '', '', 0)")
	const late = "01943000-0000-7000-8000-000000000001"
	first, second := s.begin(t, sql.LevelReadCommitted), s.begin(t, sql.LevelReadCommitted)
	started := time.Now()
	for _, tx := range []*sql.Tx{first, second} {
		_, err := db.ExecuteIn(t.Context(), tx, order(late), buys(late))
		wantRow(t, err, "2", refrain.ErrTooLate)
	}
	if took := time.Since(started); took > patience {
		t.Errorf("took %v", took)
	}
	for _, tx := range []*sql.Tx{second, first} {
		if err := tx.Commit(); err != nil {
			t.Error(err)
		}
	}
	if kept := column(t, s.raw, `SELECT count FROM refrain_review`); len(kept) != 1 || kept[0] != "1" {
		t.Errorf("counts %q", kept)
	}
}
