package orms

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/refrain-dev/refrain"
)

func each(t *testing.T, check func(t *testing.T, k kit, s shop)) {
	for _, k := range kits {
		t.Run(k.name, func(t *testing.T) { check(t, k, open(t, k.driver)) })
	}
}

// The rows a toolkit wrote and the record commit together or roll back together;
// a duplicate replays.
func TestTogether(t *testing.T) {
	each(t, func(t *testing.T, k kit, s shop) {
		runs := 0
		for _, commit := range []bool{false, true} {
			tx := k.begin(t, s.pool, nil)
			must(t, tx.insert(t.Context(), "before"))
			out, err := s.ExecuteIn(t.Context(), tx.tx, call("k"), tx.effect(&runs, "k", nil))
			if err != nil || out.Replayed {
				t.Fatalf("ExecuteIn = %+v, %v", out, err)
			}
			again, err := s.ExecuteIn(t.Context(), tx.tx, call("k"), tx.effect(&runs, "k", nil))
			if err != nil || !again.Replayed || again.Ref != out.Ref {
				t.Errorf("in the same transaction: %+v, %v", again, err)
			}
			s.receipt(t, "k", false)
			if commit {
				must(t, tx.commit())
			} else {
				must(t, tx.rollback())
				s.want(t)
			}
			s.receipt(t, "k", commit)
		}
		s.want(t, "before", "k")
		if runs != 2 {
			t.Errorf("the effect ran %d times, want 2", runs)
		}
		tx := k.begin(t, s.pool, nil)
		again, err := s.ExecuteIn(t.Context(), tx.tx, call("k"), tx.effect(&runs, "k", nil))
		must(t, err)
		must(t, tx.commit())
		if !again.Replayed || string(again.Body) != "k" || runs != 2 {
			t.Errorf("a duplicate: %+v after %d runs", again, runs)
		}
		alone, err := s.Execute(t.Context(), call("k"), tx.effect(&runs, "k", nil))
		if err != nil || !alone.Replayed || alone.Ref != again.Ref {
			t.Errorf("Execute of the same key: %+v, %v", alone, err)
		}
	})
}

// A duplicate, a failed effect and a failed statement leave the caller's
// transaction usable, also inside a savepoint of the caller's and at every
// isolation level.
func TestTransactionStaysUsable(t *testing.T) {
	for _, level := range []sql.IsolationLevel{sql.LevelReadCommitted, sql.LevelRepeatableRead, sql.LevelSerializable} {
		t.Run(level.String(), func(t *testing.T) {
			each(t, func(t *testing.T, k kit, s shop) {
				runs := 0
				if _, err := s.Execute(t.Context(), call("known"), inserts("known")); err != nil {
					t.Fatal(err)
				}
				tx := k.begin(t, s.pool, &sql.TxOptions{Isolation: level})
				must(t, tx.insert(t.Context(), "before"))
				exec(t, tx, `SAVEPOINT mine`)

				out, err := s.ExecuteIn(t.Context(), tx.tx, call("known"), tx.effect(&runs, "known", nil))
				if err != nil || !out.Replayed || string(out.Body) != "known" {
					t.Errorf("a known key: %+v, %v", out, err)
				}
				other := call("known")
				other.Input = "another"
				if _, err := s.ExecuteIn(t.Context(), tx.tx, other, tx.effect(&runs, "other", nil)); !errors.Is(err, refrain.ErrKeyReused) {
					t.Errorf("another request: %v", err)
				}
				failure := errors.New("no")
				if _, err := s.ExecuteIn(t.Context(), tx.tx, call("fails"), tx.effect(&runs, "fails", failure)); !errors.Is(err, failure) {
					t.Errorf("a failing effect: %v", err)
				}
				if _, err := s.ExecuteIn(t.Context(), tx.tx, call("violates"), tx.effect(&runs, "before", nil)); !errors.Is(err, refrain.ErrEffectFailed) {
					t.Errorf("an effect that violates a constraint: %v", err)
				}
				swallow := func(ctx context.Context, _ refrain.SQLTx) (refrain.Result, error) {
					_ = tx.insert(ctx, "before")
					return refrain.Result{}, nil
				}
				if _, err := s.ExecuteIn(t.Context(), tx.tx, call("swallows"), swallow); !errors.Is(err, refrain.ErrEffectFailed) {
					t.Errorf("an effect that swallows an error: %v", err)
				}
				_, err = s.ExecuteIn(t.Context(), tx.tx, call("k"), tx.effect(&runs, "k", nil))
				must(t, err)
				exec(t, tx, `ROLLBACK TO SAVEPOINT mine`)
				must(t, tx.insert(t.Context(), "after"))
				must(t, tx.commit())
				s.want(t, "before", "after", "known")
				for _, key := range []string{"fails", "violates", "swallows", "k"} {
					s.receipt(t, key, false)
				}
			})
		})
	}
}

// Inside an effect of Execute a toolkit works on the transaction it is handed.
func TestEffectWrites(t *testing.T) {
	each(t, func(t *testing.T, k kit, s shop) {
		for _, fail := range []error{errors.New("no"), nil} {
			_, err := s.Execute(t.Context(), call("k"), func(ctx context.Context, tx refrain.SQLTx) (refrain.Result, error) {
				_, err := tx.ExecContext(ctx, insertion, "k")
				return refrain.Result{Body: []byte("k")}, errors.Join(err, fail)
			})
			if !errors.Is(err, fail) {
				t.Errorf("Execute: %v, want %v", err, fail)
			}
			s.receipt(t, "k", fail == nil)
		}
		s.want(t, "k")
	})
}

func inserts(item string) func(context.Context, refrain.SQLTx) (refrain.Result, error) {
	return func(ctx context.Context, tx refrain.SQLTx) (refrain.Result, error) {
		_, err := tx.ExecContext(ctx, insertion, item)
		return refrain.Result{Body: []byte(item)}, err
	}
}

func exec(t *testing.T, tx joinable, statement string) {
	t.Helper()
	_, err := tx.tx.ExecContext(t.Context(), statement)
	must(t, err)
}
