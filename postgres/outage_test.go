package postgres

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

// outages are states that tell of the store.
var outages = []string{"25006", "53100", "53200", "53300", "57P01", "57P03", "08006", "58030", "55P03", "57014"}

// An effect that meets an outage is row 9, whatever it makes of the error; other
// failures stay the effect's own.
func TestOutage(t *testing.T) {
	s := newShop(t, Options{})
	for _, state := range outages {
		for name, answer := range map[string]func(error) error{
			"wrapped":   func(err error) error { return fmt.Errorf("the order: %w", err) },
			"hidden":    func(error) error { return errors.New("it did not work") },
			"swallowed": func(error) error { return nil },
		} {
			err := s.run(keeperCall("k"), func(ctx context.Context, tx Tx) (refrain.Result, error) {
				if err := s.order(ctx, tx, state); err != nil {
					return done, err
				}
				_, err := tx.Exec(ctx, failWith(state))
				return done, answer(err)
			})
			wantRow(t, err, "9", refrain.ErrUnavailable)
			if sqlState(err) != state {
				t.Errorf("%s %s: %v, want its cause", state, name, err)
			}
		}
		err := s.run(keeperCall("k"), func(ctx context.Context, tx Tx) (refrain.Result, error) {
			return done, pgx.BeginFunc(ctx, tx, func(tx pgx.Tx) error { // a savepoint, undone
				_, err := tx.Exec(ctx, failWith(state))
				return err
			})
		})
		wantRow(t, err, "9", refrain.ErrUnavailable)
	}
	for _, state := range []string{"22012", "23514", "42501", "P0001", "25P02"} {
		err := s.run(keeperCall("k"), func(ctx context.Context, tx Tx) (refrain.Result, error) {
			_, err := tx.Exec(ctx, failWith(state))
			return done, err
		})
		if !errors.Is(err, refrain.ErrEffectFailed) {
			t.Errorf("%s: %v, want the effect's failure", state, err)
		}
	}
	s.wantItems(t)
	s.wantReceipt(t, keeperCall("k"), false)
}

// What an effect gets over is its own matter: a savepoint, another database, a
// rejection, its own time limit.
func TestNoOutage(t *testing.T) {
	s := newShop(t, Options{})
	err := s.run(keeperCall("undone"), func(ctx context.Context, tx Tx) (refrain.Result, error) {
		_ = pgx.BeginFunc(ctx, tx, func(tx pgx.Tx) error {
			_, err := tx.Exec(ctx, failWith("55P03"))
			return err
		})
		return done, s.order(ctx, tx, "undone")
	})
	if err != nil {
		t.Errorf("an outage that was undone: %v", err)
	}
	for name, fails := range map[string]effect{
		"another failure after it": func(ctx context.Context, tx Tx) (refrain.Result, error) {
			_ = pgx.BeginFunc(ctx, tx, func(tx pgx.Tx) error {
				_, err := tx.Exec(ctx, failWith("55P03"))
				return err
			})
			_, err := tx.Exec(ctx, failWith("22012"))
			return done, err
		},
		"another database's": func(ctx context.Context, tx Tx) (refrain.Result, error) {
			_, err := s.raw.Exec(ctx, failWith("53100"))
			return done, err
		},
	} {
		if err := s.run(keeperCall("k"), fails); !errors.Is(err, refrain.ErrEffectFailed) {
			t.Errorf("%s: %v, want the effect's failure", name, err)
		}
	}
	s.wantItems(t, "undone")
}

// The server's own limits are real.
func TestServerTimeouts(t *testing.T) {
	s := newShop(t, Options{}, func(c *pgxpool.Config) { c.ConnConfig.RuntimeParams["statement_timeout"] = "100ms" })
	err := s.run(keeperCall("k"), func(ctx context.Context, tx Tx) (refrain.Result, error) {
		_, err := tx.Exec(ctx, `SELECT pg_sleep(60)`)
		return done, err
	})
	wantRow(t, err, "9", refrain.ErrUnavailable)
	s = newShop(t, Options{}, func(c *pgxpool.Config) { c.ConnConfig.RuntimeParams["default_transaction_read_only"] = "off" })
	err = s.run(keeperCall("k"), func(ctx context.Context, tx Tx) (refrain.Result, error) {
		if _, err := tx.Exec(ctx, `SET TRANSACTION READ ONLY`); err != nil {
			return done, err
		}
		return done, s.order(ctx, tx, "k")
	})
	wantRow(t, err, "9", refrain.ErrUnavailable)
	s.wantItems(t)
}

func TestSQLOutage(t *testing.T) {
	for _, driver := range sqlDrivers {
		t.Run(driver, func(t *testing.T) {
			s := newSQLShop(t, driver, Options{})
			for _, state := range outages {
				for name, answer := range map[string]func(error) error{
					"wrapped":   func(err error) error { return fmt.Errorf("the order: %w", err) },
					"hidden":    func(error) error { return errors.New("it did not work") },
					"swallowed": func(error) error { return nil },
				} {
					err := s.do(keeperCall("k"), func(ctx context.Context, tx SQLTx) (refrain.Result, error) {
						if err := s.order(ctx, tx, state); err != nil {
							return done, err
						}
						_, err := tx.ExecContext(ctx, failWith(state))
						return done, answer(err)
					})
					t.Log(state, name)
					wantRow(t, err, "9", refrain.ErrUnavailable)
				}
			}
			err := s.do(keeperCall("k"), func(ctx context.Context, tx SQLTx) (refrain.Result, error) {
				_, err := tx.ExecContext(ctx, failWith("22012"))
				return done, err
			})
			if !errors.Is(err, refrain.ErrEffectFailed) {
				t.Errorf("another failure: %v", err)
			}
			s.wantItems(t)
			s.wantReceipt(t, keeperCall("k"), false)
		})
	}
}

// An effect's own missing table is the effect's failure, not a missing migration.
func TestMissingTableOfAnEffect(t *testing.T) {
	const missing = `INSERT INTO nowhere_to_be_found VALUES (1)`
	b := newGroupBed(t, Options{})
	b.warm(t)
	_, err := b.group.Execute(t.Context(), groupCall("k"), func(_ context.Context, batch *Batch) (record.Result, error) {
		batch.Queue(missing)
		return record.Result{}, nil
	})
	wantOwnFailure := func(engine string, err error) {
		t.Helper()
		if !errors.Is(err, refrain.ErrEffectFailed) || errors.Is(err, refrain.ErrNotMigrated) {
			t.Errorf("%s: %v, want the effect's failure alone", engine, err)
		}
	}
	wantOwnFailure("Group", err)
	for _, driver := range sqlDrivers {
		s := newSQLShop(t, driver, Options{})
		wantOwnFailure(driver, s.do(keeperCall("k"), func(ctx context.Context, tx SQLTx) (refrain.Result, error) {
			_, err := tx.ExecContext(ctx, missing)
			return done, err
		}))
	}
}
