package sqlite

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/storetest"
)

func TestContract(t *testing.T) {
	storetest.Run(t, func(t *testing.T, env storetest.Env) *storetest.Harness[Tx] {
		path := filepath.Join(t.TempDir(), "contract.db")
		h := contractHarness(t, env, path)
		if err := h.db.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := h.db.Setup(t.Context(), `CREATE TABLE effects (id TEXT NOT NULL)`); err != nil {
			t.Fatal(err)
		}
		return h.harness
	}, storetest.Features{Rounds: races()})
}

// opened is one connection to the store under test, with its harness.
type opened struct {
	db      *DB
	harness *storetest.Harness[Tx]
}

func contractHarness(t testing.TB, env storetest.Env, path string) opened {
	db, err := Open(path, Options{Now: env.Now})
	if err != nil {
		t.Fatal(err)
	}
	shut := func() error { return db.Close(context.Background()) }
	t.Cleanup(func() { _ = shut() })
	db.parked = env.Forgetting
	between(t, db, func(statement string, run func() error) error {
		if statement == "COMMIT" {
			if err := env.Commit(); err != nil {
				return err
			}
		}
		return run()
	})
	// raw sees the file past the engine.
	connector, err := connectorOf(path, "rw", "busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	raw := sql.OpenDB(connector)
	t.Cleanup(func() { _ = raw.Close() })

	h := &storetest.Harness[Tx]{
		Exec: db, Store: db, Register: db.Register, Close: shut, ExecuteIn: db.ExecuteIn, Once: db.Once,
		Write: func(ctx context.Context, tx Tx, id string) error {
			_, err := tx.ExecContext(ctx, `INSERT INTO effects (id) VALUES (?)`, id)
			return err
		},
		Effects: func(ctx context.Context) ([]string, error) { return texts(ctx, raw, `SELECT id FROM effects`) },
		Reopen: func(t testing.TB) *storetest.Harness[Tx] {
			return contractHarness(t, env, path).harness
		},
		Begin: func(ctx context.Context) (Tx, func(bool) error, error) {
			tx, err := raw.BeginTx(ctx, nil)
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
		FailStatement: func(ctx context.Context, tx Tx) error {
			_, err := tx.ExecContext(ctx, `COMMIT`)
			return err
		},
	}
	standing(h, raw)
	return opened{db, h}
}

// standing gives the harness what later commands will do by hand.
func standing(h *storetest.Harness[Tx], raw *sql.DB) {
	h.Fence = func(ctx context.Context, f storetest.Fence) error {
		var ended any
		if f.Ended {
			ended = 1
		}
		_, err := raw.ExecContext(ctx, `INSERT INTO refrain_fence (operation, scope, until, reason, by, at, ended) VALUES (?, ?, ?, 'test', 'test', 0, ?)`,
			f.Operation, f.Scope, f.Until.UnixMicro(), ended)
		return err
	}
	h.Allow = func(ctx context.Context, id record.Identity) error {
		hash := id.Hash()
		_, err := raw.ExecContext(ctx, `INSERT INTO refrain_allow (hash, scope, operation, key, reason, by, at) VALUES (?, ?, ?, ?, 'test', 'test', 0)`,
			hash[:], id.Scope, id.Operation, []byte(id.Key))
		return err
	}
	h.Reviews = func(ctx context.Context) (map[record.Identity]int, error) {
		rows, err := raw.QueryContext(ctx, `SELECT scope, operation, key, count FROM refrain_review`)
		if err != nil {
			return nil, err
		}
		defer rows.Close()
		counts := make(map[record.Identity]int)
		for rows.Next() {
			var id record.Identity
			var key []byte
			var n int
			if err := rows.Scan(&id.Scope, &id.Operation, &key, &n); err != nil {
				return nil, err
			}
			id.Key = string(key)
			counts[id] = n
		}
		return counts, rows.Err()
	}
	h.Audits = func(ctx context.Context) ([]storetest.Audit, error) {
		rows, err := raw.QueryContext(ctx, `SELECT at, by, action, ref, reason, detail FROM refrain_audit ORDER BY id`)
		if err != nil {
			return nil, err
		}
		defer rows.Close()
		var lines []storetest.Audit
		for rows.Next() {
			var line storetest.Audit
			var at int64
			if err := rows.Scan(&at, &line.By, &line.Action, &line.Ref, &line.Reason, &line.Detail); err != nil {
				return nil, err
			}
			line.At = time.UnixMicro(at)
			lines = append(lines, line)
		}
		return lines, rows.Err()
	}
	h.Damage = func(ctx context.Context, id record.Identity, how storetest.Damage) error {
		set := map[storetest.Damage]string{
			storetest.Garbled: `state = 99`,
			storetest.Foreign: `key = key || X'78'`,
			storetest.Newer:   `format = format + 1`,
		}[how]
		hash := id.Hash()
		_, err := raw.ExecContext(ctx, `UPDATE refrain_record SET `+set+` WHERE hash = ?`, hash[:])
		return err
	}
}

func texts(ctx context.Context, db *sql.DB, query string) ([]string, error) {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []string
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, rows.Err()
}

// races is how many races against a reaper are run: 20 as the suite has it, 300
// where services are required, 10,000 in the full proof.
func races() int {
	switch {
	case os.Getenv("REFRAIN_PROOF") == "full":
		return 10_000
	case os.Getenv("REFRAIN_REQUIRE_SERVICES") == "1":
		return 300
	}
	return 0
}
