package mysql

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
)

var levels = []sql.IsolationLevel{sql.LevelReadCommitted, sql.LevelRepeatableRead, sql.LevelSerializable}

func (s shop) begin(t testing.TB, level sql.IsolationLevel) *sql.Tx {
	t.Helper()
	tx, err := s.raw.BeginTx(context.Background(), &sql.TxOptions{Isolation: level})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback() })
	return tx
}

// An identity that another transaction has under way is told at once, and the
// caller's transaction is as it was.
func TestExecuteInHeld(t *testing.T) {
	for _, level := range levels {
		for _, noLock := range []bool{false, true} {
			s := newShop(t)
			db := opened(t, s.cfg, Options{NoLock: noLock})
			mustBuy(t, db, order("known"))
			other, tx := s.begin(t, level), s.begin(t, level)
			if _, err := db.ExecuteIn(t.Context(), other, order("k"), buys("k")); err != nil {
				t.Fatal(err)
			}
			if _, err := tx.Exec(`INSERT INTO effects (id) VALUES ('the caller''s')`); err != nil {
				t.Fatal(err)
			}
			started := time.Now()
			_, err := db.ExecuteIn(t.Context(), tx, order("k"), buys("k again"))
			wantRow(t, err, "6a", refrain.ErrInProgress)
			if waited := time.Since(started); waited > patience {
				t.Errorf("%s: waited %v", level, waited)
			}
			want := []string{"k", "known", "the caller's"}
			if level != sql.LevelSerializable { // there the readers' locks on gaps are neighbours' claims, too
				want = append(want, "free")
				if _, err := db.ExecuteIn(t.Context(), tx, order("free"), buys("free")); err != nil {
					t.Errorf("%s: the transaction is of no more use: %v", level, err)
				}
			}
			if err := errors.Join(tx.Commit(), other.Commit()); err != nil {
				t.Error(err)
			}
			s.wants(t, want...)
			s.receipts(t, len(want)-1)
		}
	}
}

// Execute does not run its effect while a caller of ExecuteIn has not committed,
// or runs it in vain; it never has the record twice.
func TestExecuteBesideExecuteIn(t *testing.T) {
	for name, open := range kinds {
		for _, noLock := range []bool{false, true} {
			s := newShop(t)
			db := open(t, s.cfg, Options{NoLock: noLock})
			mustBuy(t, db, order("known"))
			tx := s.begin(t, sql.LevelReadCommitted)
			if _, err := db.ExecuteIn(t.Context(), tx, order("k"), buys("k")); err != nil {
				t.Fatal(err)
			}
			impatient := order("k")
			impatient.Wait = -1
			_, err := db.Execute(t.Context(), impatient, buys("k again"))
			wantRow(t, err, "6a", refrain.ErrInProgress)
			if err := tx.Commit(); err != nil {
				t.Fatal(err)
			}
			if out, err := db.Execute(t.Context(), order("k"), buys("k again")); err != nil || !out.Replayed {
				t.Errorf("%s: %+v, %v", name, out, err)
			}
			s.wants(t, "k", "known")
		}
	}
}

// ExecuteIn is told at once of an Execute under way elsewhere.
func TestExecuteInBesideExecute(t *testing.T) {
	s := newShop(t)
	db := opened(t, s.cfg, Options{})
	running, release, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- run(db, "k", func(ctx context.Context, tx Tx) (refrain.Result, error) {
			close(running)
			<-release
			return buys("k")(ctx, tx)
		})
	}()
	await(t, running, "the effect")
	tx := s.begin(t, sql.LevelRepeatableRead)
	_, err := db.ExecuteIn(t.Context(), tx, order("k"), buys("k again"))
	wantRow(t, err, "6a", refrain.ErrInProgress)
	close(release)
	if err := await(t, ended, "Execute"); err != nil {
		t.Error(err)
	}
	s.wants(t, "k")
}

// The winner committed after this transaction's snapshot: a plain read does not
// see it, the unique key does.
func TestExecuteInOlderSnapshot(t *testing.T) {
	for _, level := range levels[:2] {
		s := newShop(t)
		db := opened(t, s.cfg, Options{})
		mustBuy(t, db, order("known"))
		tx := s.begin(t, level)
		if _, err := tx.Exec(`SAVEPOINT callers`); err != nil {
			t.Fatal(err)
		}
		var n int
		if err := tx.QueryRow(`SELECT count(*) FROM refrain_record`).Scan(&n); err != nil { // the snapshot
			t.Fatal(err)
		}
		winner := mustBuy(t, db, order("k"))
		out, err := db.ExecuteIn(t.Context(), tx, order("k"), buys("k again"))
		if err != nil || !out.Replayed || out.Ref != winner.Ref {
			t.Errorf("%s: %+v, %v; want the winner's", level, out, err)
		}
		other := order("k")
		other.Input = []byte("two")
		_, err = db.ExecuteIn(t.Context(), tx, other, buys("k again"))
		wantRow(t, err, "4", refrain.ErrKeyReused)
		if _, err := tx.Exec(`ROLLBACK TO SAVEPOINT callers`); err != nil {
			t.Errorf("%s: the caller's savepoint: %v", level, err)
		}
		if err := tx.Commit(); err != nil {
			t.Error(err)
		}
		s.wants(t, "k", "known")
	}
}

// A deadlock has ended the caller's transaction, whatever the effect says.
func TestExecuteInDeadlock(t *testing.T) {
	for _, swallows := range []bool{false, true} {
		s := newShop(t)
		must(t, s.raw, `CREATE TABLE stock (id INT PRIMARY KEY, n INT NOT NULL) ENGINE=InnoDB`, `INSERT INTO stock VALUES (1, 0), (2, 0)`,
			`INSERT INTO stock SELECT n + 10, 0 FROM `+numbers(490))
		db := opened(t, s.cfg, Options{})
		other, tx := s.begin(t, sql.LevelReadCommitted), s.begin(t, sql.LevelReadCommitted)
		if _, err := other.Exec(`UPDATE stock SET n = n + 1 WHERE id = 1 OR id >= 10`); err != nil {
			t.Fatal(err)
		}
		_, err := db.ExecuteIn(t.Context(), tx, order("k"), func(ctx context.Context, tx Tx) (refrain.Result, error) {
			if _, err := tx.ExecContext(ctx, `UPDATE stock SET n = n + 1 WHERE id = 2`); err != nil {
				return made, err
			}
			ended := make(chan error, 1)
			go func() {
				_, err := other.Exec(`UPDATE stock SET n = n + 1 WHERE id = 2`)
				ended <- errors.Join(err, other.Commit())
			}()
			s.awaitLockWait(t, 1)
			_, err := tx.ExecContext(ctx, `UPDATE stock SET n = n + 1 WHERE id = 1`)
			if err := <-ended; err != nil {
				t.Error(err)
			}
			if swallows {
				err = nil
			}
			return made, err
		})
		if !errors.Is(err, refrain.ErrRetryTransaction) || number(err) != errDeadlock {
			t.Errorf("%v, want ErrRetryTransaction and the driver's error", err)
		}
		_ = tx.Rollback()
		s.receipts(t, 0)
	}
}
