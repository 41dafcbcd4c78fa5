package memstore_test

import (
	"context"
	"testing"

	"github.com/refrain-dev/refrain/memstore"
	"github.com/refrain-dev/refrain/storetest"
)

func TestOperations(t *testing.T) {
	storetest.RunOperations(t, func(t *testing.T, env storetest.Env) *storetest.OperationsHarness[memstore.Tx] {
		h := harness(t, env)
		db := h.Store.(*memstore.DB)
		return &storetest.OperationsHarness[memstore.Tx]{
			Harness:    h,
			Operations: db.Operations(),
			Rows:       func(context.Context) (int, error) { return db.OperationRows(), nil },
			DamageOperation: func(ctx context.Context, ref string, how storetest.Damage) error {
				return db.DamageOperation(ctx, ref, how == storetest.Newer)
			},
		}
	}, storetest.Features{NoReopen: true, NoMigrations: true, OneWriter: true})
}
