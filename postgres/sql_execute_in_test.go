package postgres

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/refrain-dev/refrain"
)

func (s *sqlShop) beginAt(t *testing.T, level sql.IsolationLevel) *sql.Tx {
	t.Helper()
	tx, err := s.handle.BeginTx(t.Context(), &sql.TxOptions{Isolation: level})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback() })
	return tx
}

func (s *sqlShop) runIn(t *testing.T, tx SQLTx, text string) {
	t.Helper()
	if _, err := tx.ExecContext(t.Context(), text); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

// Whatever goes wrong in the effect, the caller's transaction commits what it
// wrote, in its own savepoint, too.
func TestSQLExecuteInIsTakenBack(t *testing.T) {
	ways := map[string]struct {
		fail sqlEffect
		want error
	}{
		"swallowed": {func(ctx context.Context, tx SQLTx) (refrain.Result, error) {
			_, _ = tx.ExecContext(ctx, `SELECT 1 / 0`)
			return done, nil
		}, refrain.ErrEffectFailed},
		"unseen": {func(ctx context.Context, tx SQLTx) (refrain.Result, error) {
			_ = prepared(ctx, tx, `SELECT 1 / (SELECT 0)`)
			return done, nil
		}, refrain.ErrEffectFailed},
		"told": {func(context.Context, SQLTx) (refrain.Result, error) { return done, errors.New("no") }, refrain.ErrEffectFailed},
		"verb": {func(ctx context.Context, tx SQLTx) (refrain.Result, error) {
			_, err := tx.ExecContext(ctx, `COMMIT`)
			return done, err
		}, refrain.ErrOwned},
		"too large": {func(context.Context, SQLTx) (refrain.Result, error) {
			return refrain.Result{Body: make([]byte, refrain.DefaultMaxResponse+1)}, nil
		}, refrain.ErrResultTooLarge},
		"serializing": {func(ctx context.Context, tx SQLTx) (refrain.Result, error) {
			_, err := tx.ExecContext(ctx, raise("40001"))
			return done, err
		}, refrain.ErrRetryTransaction},
		"deadlocked": {func(ctx context.Context, tx SQLTx) (refrain.Result, error) {
			_, _ = tx.ExecContext(ctx, raise("40P01"))
			return done, nil
		}, refrain.ErrRetryTransaction},
	}
	onSQL(t, func(t *testing.T, s *sqlShop) {
		var want []string
		for name, tt := range ways {
			tx := s.beginAt(t, sql.LevelReadCommitted)
			s.runIn(t, tx, "SAVEPOINT mine")
			if err := s.order(t.Context(), tx, "before "+name); err != nil {
				t.Fatal(err)
			}
			_, err := s.ExecuteIn(t.Context(), tx, keeperCall(name), func(ctx context.Context, tx SQLTx) (refrain.Result, error) {
				if err := s.order(ctx, tx, "inside"); err != nil {
					return done, err
				}
				return tt.fail(ctx, tx)
			})
			if !errors.Is(err, tt.want) || errors.Is(err, ErrTxUnusable) {
				t.Errorf("%s: %v, want %v", name, err, tt.want)
			}
			s.runIn(t, tx, "RELEASE mine")
			if err := tx.Commit(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			want = append(want, "before "+name)
			s.wantReceipt(t, keeperCall(name), false)
		}
		s.wantItems(t, want...)
	})
}

// What ends the caller's transaction or the savepoint is told.
func TestSQLExecuteInUnusable(t *testing.T) {
	ends := map[string]string{
		"connection": `SELECT pg_terminate_backend(pg_backend_pid())`,
		"savepoint":  `ROLLBACK TO SAVEPOINT mine`,
		"committed":  `COMMIT`,
	}
	onSQL(t, func(t *testing.T, s *sqlShop) {
		for name, end := range ends {
			tx := s.beginAt(t, sql.LevelReadCommitted)
			s.runIn(t, tx, "SAVEPOINT mine")
			_, err := s.ExecuteIn(t.Context(), tx, keeperCall(name), func(ctx context.Context, _ SQLTx) (refrain.Result, error) {
				_, _ = tx.ExecContext(ctx, end) // by the caller's own handle
				return done, nil
			})
			if !errors.Is(err, ErrTxUnusable) {
				t.Errorf("%s: %v, want %v", name, err, ErrTxUnusable)
			}
			if err := tx.Commit(); err == nil && name != "committed" { // which pgx does not notice
				t.Errorf("%s: it commits", name)
			}
			s.wantReceipt(t, keeperCall(name), false)
		}
	})
}

func TestSQLExecuteInNeedsATransaction(t *testing.T) {
	onSQL(t, func(t *testing.T, s *sqlShop) {
		runs := 0
		count := func(context.Context, SQLTx) (refrain.Result, error) { runs++; return done, nil }
		if _, err := s.ExecuteIn(t.Context(), s.handle, keeperCall("k"), count); !errors.Is(err, errNoTransaction) {
			t.Errorf("on a *sql.DB: %v, want %v", err, errNoTransaction)
		}
		tx := s.beginAt(t, sql.LevelReadCommitted)
		_, _ = tx.Exec(`SELECT 1 / 0`)
		if _, err := s.ExecuteIn(t.Context(), tx, keeperCall("k"), count); !errors.Is(err, refrain.ErrRetryTransaction) {
			t.Errorf("after a failed statement: %v, want %v", err, refrain.ErrRetryTransaction)
		}
		if runs != 0 {
			t.Errorf("the effect ran %d times", runs)
		}
	})
}

// At a higher level a record may be there that the caller's snapshot does not
// show: the transaction lost the race, and goes on if it likes.
func TestSQLExecuteInLosesARace(t *testing.T) {
	onSQL(t, func(t *testing.T, s *sqlShop) {
		for _, level := range []sql.IsolationLevel{sql.LevelRepeatableRead, sql.LevelSerializable} {
			item := level.String()
			tx := s.beginAt(t, level)
			if err := s.order(t.Context(), tx, "before "+item); err != nil {
				t.Fatal(err)
			}
			if err := s.do(keeperCall(item), s.put(item)); err != nil {
				t.Fatal(err)
			}
			_, err := s.ExecuteIn(t.Context(), tx, keeperCall(item), s.put("twice"))
			if !errors.Is(err, refrain.ErrRetryTransaction) {
				t.Errorf("%s: %v, want %v", item, err, refrain.ErrRetryTransaction)
			}
			if err := tx.Rollback(); err != nil {
				t.Error(err)
			}
		}
		s.wantItems(t, "Repeatable Read", "Serializable")
	})
}

// A held identity is told at once, from both sides, and the transaction goes on.
func TestSQLExecuteInHeld(t *testing.T) {
	onSQL(t, func(t *testing.T, s *sqlShop) {
		first, second := s.beginAt(t, sql.LevelReadCommitted), s.beginAt(t, sql.LevelReadCommitted)
		if _, err := s.ExecuteIn(t.Context(), first, keeperCall("k"), s.put("k")); err != nil {
			t.Fatal(err)
		}
		if _, err := s.ExecuteIn(t.Context(), second, keeperCall("k"), s.put("twice")); !errors.Is(err, refrain.ErrInProgress) {
			t.Errorf("ExecuteIn: %v, want %v", err, refrain.ErrInProgress)
		}
		c := keeperCall("k")
		c.Wait = -1
		if err := s.do(c, s.put("twice")); !errors.Is(err, refrain.ErrInProgress) {
			t.Errorf("Execute: %v, want %v", err, refrain.ErrInProgress)
		}
		if err := errors.Join(s.order(t.Context(), second, "second"), second.Commit(), first.Commit()); err != nil {
			t.Error(err)
		}
		s.wantItems(t, "k", "second")
	})
}

// A rejection undoes the effect alone and keeps its receipt; *sql.Conn will do.
func TestSQLExecuteInRejected(t *testing.T) {
	onSQL(t, func(t *testing.T, s *sqlShop) {
		conn, err := s.handle.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		s.runIn(t, conn, "BEGIN")
		if err := s.order(t.Context(), conn, "before"); err != nil {
			t.Fatal(err)
		}
		out, err := s.ExecuteIn(t.Context(), conn, keeperCall("k"), func(ctx context.Context, tx SQLTx) (refrain.Result, error) {
			return refrain.Result{Rejected: true, Body: []byte(`"no"`)}, s.order(ctx, tx, "half")
		})
		if err != nil || !out.Rejected {
			t.Errorf("ExecuteIn = %+v, %v", out, err)
		}
		s.runIn(t, conn, "COMMIT")
		s.wantItems(t, "before")
		s.wantReceipt(t, keeperCall("k"), true)
	})
}
