package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/storetest"
)

func TestOperations(t *testing.T) {
	storetest.RunOperations(t, func(t *testing.T, env storetest.Env) *storetest.OperationsHarness[Tx] {
		path := filepath.Join(t.TempDir(), "operations.db")
		return operationsHarness(t, env, path, migratedHarness(t, env, path))
	}, storetest.Features{OneWriter: true})
}

// On a handle of the application's own nobody sees an effect that ends its
// transaction by itself, so that is not tried.
func TestOperationsOnHandle(t *testing.T) {
	storetest.RunOperations(t, func(t *testing.T, env storetest.Env) *storetest.OperationsHarness[Tx] {
		path := filepath.Join(t.TempDir(), "operations.db")
		h := migratedHarness(t, env, path)
		pool := plain(t, path, "busy_timeout(5000)", "journal_mode(WAL)", "synchronous(FULL)")
		db, err := New(pool, Options{Now: env.Now})
		if err != nil {
			t.Fatal(err)
		}
		between(t, db, h.db.writer.between)
		h.db = db
		h.harness.Exec, h.harness.Store, h.harness.Register, h.harness.ExecuteIn = db, db, db.Register, db.ExecuteIn
		h.harness.Close = func() error { return errors.Join(db.Close(context.Background()), pool.Close()) }
		return operationsHarness(t, env, path, h)
	}, storetest.Features{OneWriter: true, NoPoison: true})
}

func migratedHarness(t *testing.T, env storetest.Env, path string) opened {
	h := contractHarness(t, env, path)
	if err := h.db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := h.db.Setup(t.Context(), `CREATE TABLE effects (id TEXT NOT NULL)`); err != nil {
		t.Fatal(err)
	}
	return h
}

func operationsHarness(t *testing.T, env storetest.Env, path string, h opened) *storetest.OperationsHarness[Tx] {
	quiet(t, h.db)
	h.db.writer.busy = time.Minute
	raw := plain(t, path, "busy_timeout(5000)")
	return &storetest.OperationsHarness[Tx]{
		Harness:    h.harness,
		Operations: h.db.Operations(),
		Beside: func(t testing.TB) operation.Store[Tx] {
			beside := contractHarness(t, env, path)
			quiet(t, beside.db)
			beside.db.writer.busy = time.Minute
			return beside.db.Operations()
		},
		Rows: func(ctx context.Context) (n int, err error) {
			err = raw.QueryRowContext(ctx, `SELECT count(*) FROM refrain_external`).Scan(&n)
			return n, err
		},
		DamageOperation: func(ctx context.Context, ref string, how storetest.Damage) error {
			return damageOperation(ctx, raw, ref, how)
		},
		Unmigrated: func(t testing.TB) *storetest.OperationsHarness[Tx] {
			empty := contractHarness(t, env, filepath.Join(t.TempDir(), "empty.db"))
			return &storetest.OperationsHarness[Tx]{Harness: empty.harness, Operations: empty.db.Operations()}
		},
	}
}

func damageOperation(ctx context.Context, raw *sql.DB, ref string, how storetest.Damage) error {
	set := `data = substr(data, 2)`
	if how == storetest.Newer {
		set = `format = format + 1`
	}
	_, err := raw.ExecContext(ctx, `UPDATE refrain_external SET `+set+` WHERE ref = ?`, ref)
	return err
}
