package postgres

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/refrain-dev/refrain"
)

// onSQL runs a test with each driver.
func onSQL(t *testing.T, check func(t *testing.T, s *sqlShop)) {
	for _, driver := range sqlDrivers {
		t.Run(driver, func(t *testing.T) { check(t, newSQLShop(t, driver, Options{})) })
	}
}

// prepared runs a statement whose errors the handle does not see.
func prepared(ctx context.Context, tx SQLTx, query string) error {
	stmt, err := tx.PrepareContext(ctx, query)
	if err != nil {
		return err
	}
	_, err = stmt.ExecContext(context.Background())
	return errors.Join(err, stmt.Close())
}

// raise fails with a state of choice.
func raise(state string) string {
	return `DO $$ BEGIN RAISE EXCEPTION 'planted' USING ERRCODE = '` + state + `'; END $$`
}

// An error the effect swallows never ends in a commit, whoever saw it.
func TestSQLSwallowed(t *testing.T) {
	ways := map[string]func(context.Context, SQLTx) error{
		"exec": func(ctx context.Context, tx SQLTx) error {
			_, err := tx.ExecContext(ctx, `SELECT 1 / 0`)
			return err
		},
		"prepared": func(ctx context.Context, tx SQLTx) error { return prepared(ctx, tx, `SELECT 1 / (SELECT 0)`) },
		"row": func(ctx context.Context, tx SQLTx) error {
			return tx.QueryRowContext(ctx, `SELECT 1 / (2 - n) FROM generate_series(1, 2) n`).Scan(new(int))
		},
		"rows": func(ctx context.Context, tx SQLTx) error {
			rows, err := tx.QueryContext(ctx, `SELECT 1 / (1000 - n) FROM generate_series(1, 1000) n`)
			if err != nil {
				return err
			}
			defer rows.Close()
			for rows.Next() {
			}
			return errors.New("nobody asks")
		},
		"left open": func(ctx context.Context, tx SQLTx) error {
			_, err := tx.QueryContext(ctx, `SELECT 1 / (1000 - n) FROM generate_series(1, 1000) n`)
			return errors.Join(err, errors.New("nobody reads"))
		},
	}
	onSQL(t, func(t *testing.T, s *sqlShop) {
		for name, fail := range ways {
			t.Run(name, func(t *testing.T) {
				c := keeperCall(name)
				err := s.do(c, func(ctx context.Context, tx SQLTx) (refrain.Result, error) {
					if err := s.order(ctx, tx, name); err != nil {
						return done, err
					}
					if err := fail(ctx, tx); err == nil {
						t.Error("the statement does not fail")
					}
					return done, nil
				})
				if !errors.Is(err, refrain.ErrEffectFailed) {
					t.Errorf("Execute: %v, want %v", err, refrain.ErrEffectFailed)
				}
				s.wantReceipt(t, c, false)
				if err := s.do(c, func(context.Context, SQLTx) (refrain.Result, error) { return done, nil }); err != nil {
					t.Errorf("afterwards: %v", err)
				}
			})
		}
		s.wantItems(t)
	})
}

// Verbs that end the transaction are refused, and what came before is not kept
// although the effect ignores that. Savepoints are the effect's.
func TestSQLVerbs(t *testing.T) {
	onSQL(t, func(t *testing.T, s *sqlShop) {
		for _, text := range []string{`COMMIT`, `/* */ END`, `ROLLBACK; BEGIN`, `DROP TABLE ` + s.sql.schema + `.orders`} {
			for name, send := range map[string]func(context.Context, SQLTx) error{
				"exec": func(ctx context.Context, tx SQLTx) error { _, err := tx.ExecContext(ctx, text); return err },
				"prepare": func(ctx context.Context, tx SQLTx) error {
					_, err := tx.PrepareContext(ctx, text)
					return err
				},
				"query": func(ctx context.Context, tx SQLTx) error { _, err := tx.QueryContext(ctx, text); return err },
				"row":   func(ctx context.Context, tx SQLTx) error { return tx.QueryRowContext(ctx, text).Scan() },
			} {
				c := keeperCall(text + name)
				err := s.do(c, func(ctx context.Context, tx SQLTx) (refrain.Result, error) {
					err := s.order(ctx, tx, text)
					if err := send(ctx, tx); err == nil {
						t.Errorf("%s passes %s", name, text)
					}
					return done, err
				})
				if !errors.Is(err, refrain.ErrOwned) || !errors.Is(err, refrain.ErrEffectFailed) {
					t.Errorf("%s of %s: %v, want %v", name, text, err, refrain.ErrOwned)
				}
				s.wantReceipt(t, c, false)
			}
		}
		s.wantItems(t)
		err := s.do(keeperCall("savepoint"), func(ctx context.Context, tx SQLTx) (refrain.Result, error) {
			for _, step := range []string{"SAVEPOINT a", "", "ROLLBACK TO a", "RELEASE a"} {
				if step == "" {
					_ = s.order(ctx, tx, "undone")
					_, _ = tx.ExecContext(ctx, `SELECT 1 / 0`)
				} else if _, err := tx.ExecContext(ctx, step); err != nil {
					return done, err
				}
			}
			return s.put("kept")(ctx, tx)
		})
		if err != nil {
			t.Error(err)
		}
		s.wantItems(t, "kept")
	})
}

// An effect that ended the transaction by means nobody sees: the record is not
// written into another one, nor into none.
func TestSQLEnded(t *testing.T) {
	onSQL(t, func(t *testing.T, s *sqlShop) {
		for name, statements := range map[string][]string{
			"ended":   {`COMMIT`},
			"undone":  {`ROLLBACK`},
			"another": {`COMMIT`, `BEGIN`},
		} {
			c := keeperCall(name)
			err := s.do(c, func(ctx context.Context, tx SQLTx) (refrain.Result, error) {
				for _, statement := range statements {
					if _, err := tx.(*sqlTx).tx.ExecContext(ctx, statement); err != nil {
						return done, err
					}
				}
				return done, nil
			})
			if !errors.Is(err, refrain.ErrOwned) || !errors.Is(err, refrain.ErrEffectFailed) {
				t.Errorf("%s: %v, want %v", name, err, refrain.ErrOwned)
			}
			s.wantReceipt(t, c, false)
		}
	})
}

// A serialization failure or deadlock runs the effect again, whether or not the
// effect tells of it.
func TestSQLRunsAgain(t *testing.T) {
	onSQL(t, func(t *testing.T, s *sqlShop) {
		for _, state := range []string{"40001", "40P01"} {
			for _, swallow := range []bool{true, false} {
				runs, item := 0, state
				if swallow {
					item += " swallowed"
				}
				err := s.do(keeperCall(item), func(ctx context.Context, tx SQLTx) (refrain.Result, error) {
					runs++
					_ = s.order(ctx, tx, item)
					if runs < 3 {
						if _, err := tx.ExecContext(ctx, raise(state)); !swallow {
							return done, err
						}
					}
					return done, nil
				})
				if err != nil || runs != 3 {
					t.Errorf("%s: %v after %d runs, want success at the third", item, err, runs)
				}
			}
		}
		s.wantItems(t, "40001", "40001 swallowed", "40P01", "40P01 swallowed")

		runs := 0
		err := s.do(keeperCall("for ever"), func(ctx context.Context, tx SQLTx) (refrain.Result, error) {
			runs++
			_, err := tx.ExecContext(ctx, raise("40001"))
			return done, err
		})
		if !errors.Is(err, refrain.ErrNotExecuted) || runs != maxAttempts {
			t.Errorf("%v after %d runs, want %v after %d", err, runs, refrain.ErrNotExecuted, maxAttempts)
		}
	})
}

// What an effect leaves open is closed for it; what it keeps is of no use.
func TestSQLLeftOpen(t *testing.T) {
	onSQL(t, func(t *testing.T, s *sqlShop) {
		var kept SQLTx
		var stmt *sql.Stmt
		err := s.do(keeperCall("k"), func(ctx context.Context, tx SQLTx) (refrain.Result, error) {
			kept = tx
			var err error
			if stmt, err = tx.PrepareContext(ctx, `SELECT 1`); err != nil {
				return done, err
			}
			_ = tx.QueryRowContext(context.Background(), `SELECT 1`)
			return s.put("k")(ctx, tx)
		})
		if err == nil {
			t.Error("a result was being read, and the next statement passed") // drivers refuse it
		}
		for _, ctx := range []context.Context{context.Background(), t.Context()} {
			err := s.do(keeperCall("k"), func(_ context.Context, tx SQLTx) (refrain.Result, error) {
				if err := s.order(ctx, tx, "k"); err != nil {
					return done, err
				}
				_, err := tx.QueryContext(ctx, `SELECT generate_series(1, 100000)`)
				return done, err
			})
			if err != nil {
				t.Errorf("rows left open: %v", err)
			}
		}
		s.wantItems(t, "k")
		if _, err := kept.ExecContext(t.Context(), `SELECT 1`); !errors.Is(err, sql.ErrTxDone) {
			t.Errorf("Exec after the effect: %v, want %v", err, sql.ErrTxDone)
		}
		if err := kept.QueryRowContext(t.Context(), `SELECT 1`).Scan(new(int)); err == nil {
			t.Error("QueryRow answers after the effect")
		}
		if _, err := stmt.Exec(); err == nil {
			t.Error("a prepared statement works after the effect")
		}
	})
}
