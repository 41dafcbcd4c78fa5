package mysql

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"

	"github.com/refrain-dev/refrain"
)

// A transaction of another database is refused, also by an engine that has seen
// its own, and also where the other one is a copy.
func TestExecuteInOtherDatabase(t *testing.T) {
	for name, open := range kinds {
		for _, noLock := range []bool{false, true} {
			own, other := newShop(t), newShop(t)
			db := open(t, own.cfg, Options{NoLock: noLock})
			refused := func() {
				t.Helper()
				tx := other.begin(t, sql.LevelReadCommitted)
				_, err := db.ExecuteIn(t.Context(), tx, order("k"), func(context.Context, Tx) (refrain.Result, error) {
					t.Error("the effect ran")
					return made, nil
				})
				wantRow(t, err, "9", refrain.ErrUnavailable)
				if !errors.Is(err, ErrOtherDatabase) {
					t.Errorf("%s: %v, want %v", name, err, ErrOtherDatabase)
				}
				if _, err := tx.Exec(`DO 1`); err != nil {
					t.Errorf("%s: afterwards: %v", name, err)
				}
				if err := tx.Commit(); err != nil {
					t.Error(err)
				}
				other.receipts(t, 0)
			}
			refused()
			tx := own.begin(t, sql.LevelReadCommitted)
			if _, err := db.ExecuteIn(t.Context(), tx, order("own"), buys("own")); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if err := tx.Commit(); err != nil {
				t.Fatal(err)
			}
			refused()
			must(t, other.raw, `UPDATE refrain_store SET id = X'`+column(t, own.raw, `SELECT HEX(id) FROM refrain_store`)[0]+`'`)
			refused()
			own.wants(t, "own")
			own.receipts(t, 1)
		}
	}
}

// What counts is where a transaction is, not where its connection began.
func TestExecuteInMovedDatabase(t *testing.T) {
	own, other := newShop(t), newShop(t)
	db := opened(t, own.cfg, Options{})
	for use, want := range map[string]error{own.cfg.DBName: nil, other.cfg.DBName: ErrOtherDatabase} {
		conn, err := other.raw.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{"USE " + use, "START TRANSACTION"} {
			if _, err := conn.ExecContext(t.Context(), text); err != nil {
				t.Fatal(err)
			}
		}
		_, err = db.ExecuteIn(t.Context(), conn, order("k"), buys("k"))
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", strings.ReplaceAll(use, own.cfg.DBName, "the own"), err, want)
		}
		for _, text := range []string{"COMMIT", "USE " + other.cfg.DBName} {
			if _, err := conn.ExecContext(t.Context(), text); err != nil {
				t.Fatal(err)
			}
		}
		_ = conn.Close()
	}
	own.wants(t, "k")
	other.wants(t)
}

// The engine's own database is asked once, and then no more.
func TestExecuteInOwnDatabaseAskedOnce(t *testing.T) {
	s := newShop(t)
	db := opened(t, s.cfg, Options{})
	for _, id := range []string{"first", "second"} {
		tx := s.begin(t, sql.LevelReadCommitted)
		if _, err := db.ExecuteIn(t.Context(), tx, order(id), buys(id)); err != nil {
			t.Errorf("%s: %v", id, err)
		}
		if err := tx.Commit(); err != nil {
			t.Error(err)
		}
		_ = db.pool.Close() // nothing can be asked of it any more
	}
	s.wants(t, "first", "second")
}

// The caller may hold the pool's only connection.
func TestExecuteInOnOneConnection(t *testing.T) {
	s := newShop(t)
	pool := poolOf(t, s.cfg)
	pool.SetMaxOpenConns(1)
	db, err := New(pool)
	if err != nil {
		t.Fatal(err)
	}
	tx, err := pool.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	if _, err := db.ExecuteIn(t.Context(), tx, order("k"), buys("k")); err != nil {
		t.Error(err)
	}
	if err := tx.Commit(); err != nil {
		t.Error(err)
	}
	s.wants(t, "k")
}
