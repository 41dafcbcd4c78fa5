package postgres

import (
	"context"
	"database/sql"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/refrain-dev/refrain/storetest"
)

func TestContractSQL(t *testing.T) {
	for _, driver := range sqlDrivers {
		t.Run(driver, func(t *testing.T) { contractSQL(t, driver, pgx.ReadCommitted) })
	}
}

func TestContractSQLRepeatableRead(t *testing.T) { contractSQL(t, "postgres", pgx.RepeatableRead) }

func TestContractSQLSerializable(t *testing.T) { contractSQL(t, "pgx", pgx.Serializable) }

func contractSQL(t *testing.T, driver string, level pgx.TxIsoLevel) {
	stage := newSQLStage(t, driver)
	storetest.Run(t, func(t *testing.T, env storetest.Env) *storetest.Harness[SQLTx] {
		return stage.shop(t, Options{Now: env.Now, Isolation: level}).harness(t, driver, env)
	}, storetest.Features{})
}

func (s *sqlShop) harness(t testing.TB, driver string, env storetest.Env) *storetest.Harness[SQLTx] {
	s.committing, s.parked = env.Commit, env.Forgetting
	callers, err := sql.Open(driver, keeperURL(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = callers.Close() })
	h := &storetest.Harness[SQLTx]{
		Exec: s.SQL, Store: s.SQL, Register: s.Register, ExecuteIn: s.ExecuteIn, Once: s.Once,
		Close:   func() error { return s.Close(context.Background()) },
		Write:   func(ctx context.Context, tx SQLTx, id string) error { return s.order(ctx, tx, id) },
		Effects: s.items,
		Reopen: func(t testing.TB) *storetest.Harness[SQLTx] {
			other := openSQLShop(t, driver, keeperURL(t), s.opts)
			other.raw = s.raw
			return other.harness(t, driver, env)
		},
		Begin: func(ctx context.Context) (SQLTx, func(bool) error, error) {
			tx, err := callers.BeginTx(ctx, &sql.TxOptions{Isolation: level(s.opts.Isolation)})
			if err != nil {
				return nil, nil, err
			}
			return tx, func(commit bool) error {
				if commit {
					return tx.Commit()
				}
				return tx.Rollback()
			}, nil
		},
		FailStatement: func(ctx context.Context, tx SQLTx) error {
			_, err := tx.ExecContext(ctx, `SELECT 1 / 0`)
			return err
		},
	}
	standing(h, s.raw, s.sql)
	return h
}
