package sqlite

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/refrain-dev/refrain/storetest"
	"github.com/refrain-dev/refrain/upkeep"
)

func TestKeeperContract(t *testing.T) {
	storetest.RunKeeper(t, func(t *testing.T, env storetest.Env) *storetest.KeeperHarness[Tx] {
		path := filepath.Join(t.TempDir(), "contract.db")
		h := contractHarness(t, env, path)
		quiet(t, h.db)
		h.db.writer.busy = time.Minute
		if err := h.db.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := h.db.Setup(t.Context(), `CREATE TABLE effects (id TEXT NOT NULL)`); err != nil {
			t.Fatal(err)
		}
		return &storetest.KeeperHarness[Tx]{
			Harness: h.harness,
			Empty: func(t testing.TB) func() upkeep.Keeper {
				path := filepath.Join(t.TempDir(), "empty.db")
				return func() upkeep.Keeper { return open(t, path) }
			},
			Outdate: func(ctx context.Context) error {
				return h.db.Setup(ctx, `INSERT INTO refrain_schema (version, checksum, at) VALUES (1000, 'x', 0)`)
			},
		}
	}, storetest.Features{})
}
