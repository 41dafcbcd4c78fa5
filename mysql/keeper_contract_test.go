package mysql

import (
	"context"
	"testing"

	driverlib "github.com/go-sql-driver/mysql"

	"github.com/refrain-dev/refrain/storetest"
	"github.com/refrain-dev/refrain/upkeep"
)

func TestKeeperContract(t *testing.T) { keeperContract(t, opened) }

func TestKeeperContractNew(t *testing.T) { keeperContract(t, onForeign) }

func keeperContract(t *testing.T, open func(testing.TB, *driverlib.Config, Options) *DB) {
	storetest.RunKeeper(t, func(t *testing.T, env storetest.Env) *storetest.KeeperHarness[Tx] {
		cfg := database(t)
		raw := poolOf(t, cfg)
		migrateNow(t, raw)
		must(t, raw, `CREATE TABLE effects (id VARCHAR(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL) ENGINE=InnoDB`)
		return &storetest.KeeperHarness[Tx]{
			Harness: harness(t, env, cfg, Options{Now: env.Now}, open),
			Empty: func(t testing.TB) func() upkeep.Keeper {
				cfg := database(t)
				return func() upkeep.Keeper { return open(t, cfg, Options{}) }
			},
			Outdate: func(ctx context.Context) error {
				_, err := raw.ExecContext(ctx, `INSERT INTO refrain_migration VALUES (1000, REPEAT('0', 64), 0)`)
				return err
			},
		}
	}, storetest.Features{MaxBody: maxBody})
}
