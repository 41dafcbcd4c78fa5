package postgres

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/storetest"
)

func TestContract(t *testing.T) { contract(t, pgx.ReadCommitted) }

func TestContractRepeatableRead(t *testing.T) { contract(t, pgx.RepeatableRead) }

func TestContractSerializable(t *testing.T) { contract(t, pgx.Serializable) }

func contract(t *testing.T, level pgx.TxIsoLevel) {
	stage := newStage(t)
	storetest.Run(t, func(t *testing.T, env storetest.Env) *storetest.Harness[Tx] {
		s := stage.shop(t, Options{Now: env.Now, Isolation: level})
		return s.harness(t, env)
	}, storetest.Features{Rounds: races()})
}

func (s *shop) harness(t testing.TB, env storetest.Env) *storetest.Harness[Tx] {
	s.between = func(statement string, run func() error) error {
		if statement == "COMMIT" {
			if err := env.Commit(); err != nil {
				return err
			}
		}
		return run()
	}
	s.parked = env.Forgetting
	h := &storetest.Harness[Tx]{
		Exec: s.DB, Store: s.DB, Register: s.Register, ExecuteIn: s.ExecuteIn, Once: s.Once,
		Close: func() error { return s.Close(context.Background()) },
		Write: func(ctx context.Context, tx Tx, id string) error { return s.order(ctx, tx, id) },
		Effects: func(ctx context.Context) ([]string, error) {
			rows, err := s.raw.Query(ctx, s.sql.text(`SELECT item FROM {schema}.orders`))
			if err != nil {
				return nil, err
			}
			return pgx.CollectRows(rows, pgx.RowTo[string])
		},
		Reopen: func(t testing.TB) *storetest.Harness[Tx] {
			other := openShop(t, keeperURL(t), s.opts)
			other.raw = s.raw
			return other.harness(t, env)
		},
		Begin: func(ctx context.Context) (Tx, func(bool) error, error) {
			tx, err := s.raw.BeginTx(ctx, pgx.TxOptions{IsoLevel: s.opts.Isolation})
			if err != nil {
				return nil, nil, err
			}
			return tx, func(commit bool) error {
				if commit {
					return tx.Commit(ctx)
				}
				return tx.Rollback(ctx)
			}, nil
		},
		FailStatement: func(ctx context.Context, tx Tx) error {
			_, err := tx.Exec(ctx, `SELECT 1 / 0`)
			return err
		},
	}
	standing(h, s.raw, s.sql)
	return h
}

// standing gives the harness what operators do, and damage.
func standing[T any](h *storetest.Harness[T], raw *pgxpool.Pool, q queries) {
	exec := func(ctx context.Context, query string, args ...any) error {
		_, err := raw.Exec(ctx, q.text(query), args...)
		return err
	}
	h.Fence = func(ctx context.Context, f storetest.Fence) error {
		var ended any
		if f.Ended {
			ended = 1
		}
		return exec(ctx, `INSERT INTO {schema}.fence (operation, scope, until, reason, by, at, ended) VALUES ($1, $2, $3, 'test', 'test', 0, $4)`,
			f.Operation, f.Scope, f.Until.UnixMicro(), ended)
	}
	h.Allow = func(ctx context.Context, id record.Identity) error {
		return exec(ctx, `INSERT INTO {schema}.allow (hash, scope, operation, key, reason, by, at) VALUES ($1, $2, $3, $4, 'test', 'test', 0)`,
			hashText(id.Hash()), id.Scope, id.Operation, []byte(id.Key))
	}
	h.Reviews = func(ctx context.Context) (map[record.Identity]int, error) {
		rows, err := raw.Query(ctx, q.text(`SELECT scope, operation, key, count FROM {schema}.review`))
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
		rows, err := raw.Query(ctx, q.text(`SELECT at, by, action, ref, reason, detail FROM {schema}.audit ORDER BY id`))
		if err != nil {
			return nil, err
		}
		return pgx.CollectRows(rows, func(row pgx.CollectableRow) (line storetest.Audit, err error) {
			var at int64
			err = row.Scan(&at, &line.By, &line.Action, &line.Ref, &line.Reason, &line.Detail)
			line.At = time.UnixMicro(at)
			return line, err
		})
	}
	h.Damage = func(ctx context.Context, id record.Identity, how storetest.Damage) error {
		set := map[storetest.Damage]string{
			storetest.Garbled: `state = 99`,
			storetest.Foreign: `key = key || '\x78'::bytea`,
			storetest.Newer:   `format = format + 1`,
		}[how]
		if set == "" {
			return errors.New("no such damage")
		}
		return exec(ctx, `UPDATE {schema}.record SET `+set+` WHERE hash = $1`, hashText(id.Hash()))
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
