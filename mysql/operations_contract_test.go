package mysql

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	driverlib "github.com/go-sql-driver/mysql"

	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/storetest"
)

func TestOperations(t *testing.T) { operationsContract(t, opened) }

func TestOperationsNew(t *testing.T) { operationsContract(t, onForeign) }

func operationsContract(t *testing.T, open func(testing.TB, *driverlib.Config, Options) *DB) {
	storetest.RunOperations(t, func(t *testing.T, env storetest.Env) *storetest.OperationsHarness[Tx] {
		cfg := database(t)
		raw := poolOf(t, cfg)
		migrateNow(t, raw)
		must(t, raw, `CREATE TABLE effects (id VARCHAR(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL) ENGINE=InnoDB`)
		opts := Options{Now: env.Now}
		h := operationsHarness(harness(t, env, cfg, opts, open), raw)
		h.Beside = func(t testing.TB) operation.Store[Tx] { return open(t, cfg, opts).Operations() }
		h.Unmigrated = func(t testing.TB) *storetest.OperationsHarness[Tx] {
			empty := database(t)
			return operationsHarness(harness(t, env, empty, opts, open), poolOf(t, empty))
		}
		return h
	}, storetest.Features{MaxBody: maxBody})
}

func operationsHarness(h *storetest.Harness[Tx], raw *sql.DB) *storetest.OperationsHarness[Tx] {
	return &storetest.OperationsHarness[Tx]{
		Harness: h, Operations: h.Store.(*DB).Operations(),
		Rows: func(ctx context.Context) (n int, err error) {
			err = raw.QueryRowContext(ctx, `SELECT count(*) FROM refrain_external`).Scan(&n)
			return n, err
		},
		DamageOperation: func(ctx context.Context, ref string, how storetest.Damage) error {
			set := map[storetest.Damage]string{storetest.Garbled: `data = 'x'`, storetest.Newer: `format = format + 1`}[how]
			if set == "" {
				return errors.New("no such damage")
			}
			return one(raw.ExecContext(ctx, `UPDATE refrain_external SET `+set+` WHERE ref = ?`, encodeRef(ref)))
		},
	}
}
