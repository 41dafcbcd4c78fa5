package postgres

import (
	"context"
	"errors"
	"strings"
	"testing"

	"crypto/rand"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/storetest"
)

func TestOperations(t *testing.T) {
	stage := newStage(t)
	storetest.RunOperations(t, func(t *testing.T, env storetest.Env) *storetest.OperationsHarness[Tx] {
		s := stage.shop(t, Options{Now: env.Now})
		h := operationsHarness(s.harness(t, env), s.Operations(), s.raw, s.sql)
		h.Beside = func(t testing.TB) operation.Store[Tx] {
			return openShop(t, keeperURL(t), s.opts).Operations()
		}
		h.Unmigrated = func(t testing.TB) *storetest.OperationsHarness[Tx] {
			empty := openShop(t, keeperURL(t), Options{Schema: nowhere(), Now: env.Now})
			empty.raw = s.raw
			return operationsHarness(empty.harness(t, env), empty.Operations(), s.raw, empty.sql)
		}
		return h
	}, storetest.Features{})
}

func TestOperationsSQL(t *testing.T) {
	for _, driver := range sqlDrivers {
		t.Run(driver, func(t *testing.T) {
			stage := newSQLStage(t, driver)
			storetest.RunOperations(t, func(t *testing.T, env storetest.Env) *storetest.OperationsHarness[SQLTx] {
				s := stage.shop(t, Options{Now: env.Now})
				h := operationsHarness(s.harness(t, driver, env), s.Operations(), s.raw, s.sql)
				h.Beside = func(t testing.TB) operation.Store[SQLTx] {
					return openSQLShop(t, driver, keeperURL(t), s.opts).Operations()
				}
				h.Unmigrated = func(t testing.TB) *storetest.OperationsHarness[SQLTx] {
					empty := openSQLShop(t, driver, keeperURL(t), Options{Schema: nowhere(), Now: env.Now})
					empty.raw = s.raw
					return operationsHarness(empty.harness(t, driver, env), empty.Operations(), s.raw, empty.sql)
				}
				return h
			}, storetest.Features{})
		})
	}
}

// nowhere is a schema that was not migrated.
func nowhere() string { return `nowhere "` + strings.ToLower(rand.Text()[:10]) + `"` }

func operationsHarness[T any](h *storetest.Harness[T], ops operation.Store[T], raw *pgxpool.Pool, q queries) *storetest.OperationsHarness[T] {
	return &storetest.OperationsHarness[T]{
		Harness: h, Operations: ops,
		Rows: func(ctx context.Context) (n int, err error) {
			err = raw.QueryRow(ctx, q.text(`SELECT count(*) FROM {schema}.external`)).Scan(&n)
			return n, err
		},
		DamageOperation: func(ctx context.Context, ref string, how storetest.Damage) error {
			set := map[storetest.Damage]string{storetest.Garbled: `data = 'x'`, storetest.Newer: `format = format + 1`}[how]
			if set == "" {
				return errors.New("no such damage")
			}
			tag, err := raw.Exec(ctx, q.text(`UPDATE {schema}.external SET `+set+` WHERE ref = $1`), packRef(ref))
			if err == nil && tag.RowsAffected() != 1 {
				err = pgx.ErrNoRows
			}
			return err
		},
	}
}
