package mysql

import (
	"context"
	"database/sql"
	"os"
	"testing"
	"time"

	driverlib "github.com/go-sql-driver/mysql"

	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/storetest"
)

// maxBody: the shared server takes 16 MiB in one piece.
const maxBody = 15 << 20

func TestContract(t *testing.T) {
	contract(t, Options{}, opened)
}

func TestContractRepeatableRead(t *testing.T) {
	contract(t, Options{Isolation: sql.LevelRepeatableRead}, opened)
}

func TestContractSerializable(t *testing.T) {
	contract(t, Options{Isolation: sql.LevelSerializable}, opened)
}

func TestContractNew(t *testing.T) {
	contract(t, Options{}, onForeign)
}

func contract(t *testing.T, opts Options, open func(testing.TB, *driverlib.Config, Options) *DB) {
	storetest.Run(t, func(t *testing.T, env storetest.Env) *storetest.Harness[Tx] {
		cfg := database(t)
		db := open(t, cfg, Options{})
		if err := db.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		must(t, poolOf(t, cfg), `CREATE TABLE effects (id VARCHAR(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL) ENGINE=InnoDB`)
		opts.Now = env.Now
		return harness(t, env, cfg, opts, open)
	}, storetest.Features{MaxBody: maxBody, Rounds: races()})
}

// opened is an engine with connections of its own.
func opened(t testing.TB, cfg *driverlib.Config, opts Options) *DB {
	t.Helper()
	if opts.Connections == 0 {
		opts.Connections = 4
	}
	db, err := Open(cfg.FormatDSN(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close(context.Background()) })
	return db
}

// onForeign is an engine on a handle of the application's.
func onForeign(t testing.TB, cfg *driverlib.Config, opts Options) *DB {
	t.Helper()
	pool := poolOf(t, cfg)
	pool.SetMaxOpenConns(4)
	db, err := New(pool, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close(context.Background()) })
	return db
}

func harness(t testing.TB, env storetest.Env, cfg *driverlib.Config, opts Options, open func(testing.TB, *driverlib.Config, Options) *DB) *storetest.Harness[Tx] {
	opts.Busy = time.Minute // many ask for one identity at once, on a slow machine
	db := open(t, cfg, opts)
	db.parked, db.beforeCommit = env.Forgetting, env.Commit
	raw := poolOf(t, cfg) // sees the database past the engine
	h := &storetest.Harness[Tx]{
		Exec: db, Store: db, Register: db.Register, ExecuteIn: db.ExecuteIn, Once: db.Once,
		Close: func() error { return db.Close(context.Background()) },
		Write: func(ctx context.Context, tx Tx, id string) error {
			_, err := tx.ExecContext(ctx, `INSERT INTO effects (id) VALUES (?)`, id)
			return err
		},
		Effects: func(ctx context.Context) ([]string, error) { return column(t, raw, `SELECT id FROM effects`), nil },
		Reopen: func(t testing.TB) *storetest.Harness[Tx] {
			return harness(t, env, cfg, opts, open)
		},
		Begin: func(ctx context.Context) (Tx, func(bool) error, error) {
			tx, err := raw.BeginTx(ctx, &sql.TxOptions{Isolation: opts.Isolation})
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
	return h
}

// standing gives the harness what later commands will do by hand.
func standing(h *storetest.Harness[Tx], raw *sql.DB) {
	h.Fence = func(ctx context.Context, f storetest.Fence) error {
		var ended any
		if f.Ended {
			ended = 1
		}
		_, err := raw.ExecContext(ctx, "INSERT INTO refrain_fence (operation, scope, until, reason, `by`, at, ended) VALUES (?, ?, ?, 'test', 'test', 0, ?)",
			f.Operation, f.Scope, f.Until.UnixMicro(), ended)
		return err
	}
	h.Allow = func(ctx context.Context, id record.Identity) error {
		hash := id.Hash()
		_, err := raw.ExecContext(ctx, "INSERT INTO refrain_allow (hash, scope, operation, `key`, reason, `by`, at) VALUES (?, ?, ?, ?, 'test', 'test', 0)",
			hash[:], []byte(id.Scope), []byte(id.Operation), []byte(id.Key))
		return err
	}
	h.Reviews = func(ctx context.Context) (map[record.Identity]int, error) {
		rows, err := raw.QueryContext(ctx, "SELECT scope, operation, `key`, count FROM refrain_review")
		if err != nil {
			return nil, err
		}
		defer rows.Close()
		counts := make(map[record.Identity]int)
		for rows.Next() {
			var id record.Identity
			var n int
			if err := rows.Scan(&id.Scope, &id.Operation, &id.Key, &n); err != nil {
				return nil, err
			}
			counts[id] = n
		}
		return counts, rows.Err()
	}
	h.Audits = func(ctx context.Context) ([]storetest.Audit, error) {
		rows, err := raw.QueryContext(ctx, "SELECT at, `by`, action, ref, reason, detail FROM refrain_audit ORDER BY id")
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
			storetest.Garbled: "state = 99",
			storetest.Foreign: "`key` = CONCAT(`key`, 'x')",
			storetest.Newer:   "format = format + 1",
		}[how]
		hash := id.Hash()
		_, err := raw.ExecContext(ctx, `UPDATE refrain_record SET `+set+` WHERE hash = ?`, hash[:])
		return err
	}
}

// races is how many races against a reaper are run at each level: 20 as the suite has
// it, 100 where services are required, 10,000 in the full proof.
func races() int {
	switch {
	case os.Getenv("REFRAIN_PROOF") == "full":
		return 10_000
	case os.Getenv("REFRAIN_REQUIRE_SERVICES") == "1":
		return 100
	}
	return 0
}
