package postgres

import (
	"context"
	"crypto/rand"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/refrain-dev/refrain/storetest"
	"github.com/refrain-dev/refrain/upkeep"
)

func TestKeeperContract(t *testing.T) {
	stage := newStage(t)
	storetest.RunKeeper(t, func(t *testing.T, env storetest.Env) *storetest.KeeperHarness[Tx] {
		s := stage.shop(t, Options{Now: env.Now})
		return keeperHarness(s.harness(t, env), s.raw, s.sql, func(t testing.TB, schema string) upkeep.Keeper {
			return openShop(t, keeperURL(t), Options{Schema: schema}).DB
		})
	}, storetest.Features{})
}

func TestKeeperContractSQL(t *testing.T) {
	for _, driver := range sqlDrivers {
		t.Run(driver, func(t *testing.T) {
			stage := newSQLStage(t, driver)
			storetest.RunKeeper(t, func(t *testing.T, env storetest.Env) *storetest.KeeperHarness[SQLTx] {
				s := stage.shop(t, Options{Now: env.Now})
				return keeperHarness(s.harness(t, driver, env), s.raw, s.sql, func(t testing.TB, schema string) upkeep.Keeper {
					return openSQLShop(t, driver, keeperURL(t), Options{Schema: schema}).SQL
				})
			}, storetest.Features{})
		})
	}
}

// keeperHarness adds what the suite of the upkeep asks for.
func keeperHarness[T any](h *storetest.Harness[T], raw *pgxpool.Pool, q queries, open func(t testing.TB, schema string) upkeep.Keeper) *storetest.KeeperHarness[T] {
	return &storetest.KeeperHarness[T]{
		Harness: h,
		Empty: func(t testing.TB) func() upkeep.Keeper {
			schema := "empty " + rand.Text()[:10]
			t.Cleanup(func() {
				if _, err := raw.Exec(context.Background(), `DROP SCHEMA IF EXISTS "`+schema+`" CASCADE`); err != nil {
					t.Error(err)
				}
			})
			return func() upkeep.Keeper { return open(t, schema) }
		},
		Outdate: func(ctx context.Context) error {
			_, err := raw.Exec(ctx, q.text(`INSERT INTO {schema}.migration (version, checksum, at) VALUES (1000, 'x', 0)`))
			return err
		},
	}
}
