//go:build linux

package pgbouncer

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/refrain-dev/refrain/postgres"
	"github.com/refrain-dev/refrain/proof/engines"
	"github.com/refrain-dev/refrain/proof/processes"
	"github.com/refrain-dev/refrain/proof/servers"
	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/storetest"
)

// TestContract runs the suite of all engines through the pool. What needs a hook
// inside the engine is left to the engine's own run of it.
func TestContract(t *testing.T) {
	processes.Heavy(t)
	server := servers.StartPostgres(t, "", "max_connections=100")
	bouncer := servers.StartPgBouncer(t, server.Addr(), "default_pool_size = 20")
	storetest.Run(t, func(t *testing.T, env storetest.Env) *storetest.Harness[postgres.Tx] {
		s := &store{shop: engines.NewShop(t, engines.Pgx, server.DSN()), bouncer: bouncer, env: env}
		raw, err := pgxpool.New(t.Context(), server.DSN())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(raw.Close)
		s.raw = raw
		return s.open(t)
	}, storetest.Features{NoCommit: true, NoForgetting: true})
}

// store is one store under test.
type store struct {
	shop    *engines.Shop
	bouncer *servers.PgBouncer
	env     storetest.Env
	raw     *pgxpool.Pool // past the pool and the engine
}

// sql puts the schema's name into a statement.
func (s *store) sql(statement string) string {
	return strings.ReplaceAll(statement, "{schema}", s.shop.Place().Name)
}

func (s *store) open(t testing.TB) *storetest.Harness[postgres.Tx] {
	cfg, err := pgxpool.ParseConfig(s.bouncer.DSN())
	if err != nil {
		t.Fatal(err)
	}
	cfg.MaxConns = pool
	cfg.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
	postgres.Configure(cfg)
	conns, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conns.Close)
	db, err := postgres.New(conns, postgres.Options{Schema: s.shop.Place().Name, Now: s.env.Now})
	if err != nil {
		t.Fatal(err)
	}
	shut := func() error { return db.Close(context.Background()) }
	t.Cleanup(func() { _ = shut() })
	h := &storetest.Harness[postgres.Tx]{
		Exec: db, Store: db, Register: db.Register, Close: shut, ExecuteIn: db.ExecuteIn, Once: db.Once,
		Write: func(ctx context.Context, tx postgres.Tx, id string) error {
			_, err := tx.Exec(ctx, s.sql(`INSERT INTO {schema}.orders (client_key, ref, token) VALUES ($1, '', '')`), id)
			return err
		},
		Effects: func(ctx context.Context) ([]string, error) {
			return rows(ctx, s.raw, pgx.RowTo[string], s.sql(`SELECT client_key FROM {schema}.orders`))
		},
		Reopen: s.open,
		Begin: func(ctx context.Context) (postgres.Tx, func(bool) error, error) {
			tx, err := conns.Begin(ctx)
			if err != nil {
				return nil, nil, err
			}
			return tx, func(commit bool) error {
				if commit {
					return tx.Commit(context.Background())
				}
				return tx.Rollback(context.Background())
			}, nil
		},
		FailStatement: func(ctx context.Context, tx postgres.Tx) error {
			_, err := tx.Exec(ctx, `SELECT 1/0`)
			return err
		},
	}
	s.standing(h)
	return h
}

// standing gives the harness what later commands will do by hand.
func (s *store) standing(h *storetest.Harness[postgres.Tx]) {
	exec := func(ctx context.Context, statement string, args ...any) error {
		_, err := s.raw.Exec(ctx, s.sql(statement), args...)
		return err
	}
	h.Fence = func(ctx context.Context, f storetest.Fence) error {
		var ended *int64
		if f.Ended {
			ended = new(int64)
		}
		return exec(ctx, `INSERT INTO {schema}.fence (operation, scope, until, reason, by, at, ended) VALUES ($1, $2, $3, 'test', 'test', 0, $4)`,
			f.Operation, f.Scope, f.Until.UnixMicro(), ended)
	}
	h.Allow = func(ctx context.Context, id record.Identity) error {
		return exec(ctx, `INSERT INTO {schema}.allow (hash, scope, operation, key, reason, by, at) VALUES ($1, $2, $3, $4, 'test', 'test', 0)`,
			id.Hash(), id.Scope, id.Operation, []byte(id.Key))
	}
	h.Reviews = func(ctx context.Context) (map[record.Identity]int, error) {
		type review struct {
			Scope, Operation string
			Key              []byte
			Count            int
		}
		list, err := rows(ctx, s.raw, pgx.RowToStructByPos[review], s.sql(`SELECT scope, operation, key, count FROM {schema}.review`))
		counts := make(map[record.Identity]int)
		for _, r := range list {
			counts[record.Identity{Scope: r.Scope, Operation: r.Operation, Key: string(r.Key)}] = r.Count
		}
		return counts, err
	}
	h.Audits = func(ctx context.Context) ([]storetest.Audit, error) {
		type line struct {
			At                              int64
			By, Action, Ref, Reason, Detail string
		}
		list, err := rows(ctx, s.raw, pgx.RowToStructByPos[line], s.sql(`SELECT at, by, action, ref, reason, detail FROM {schema}.audit ORDER BY id`))
		var lines []storetest.Audit
		for _, l := range list {
			lines = append(lines, storetest.Audit{At: time.UnixMicro(l.At), By: l.By, Action: l.Action, Ref: l.Ref, Reason: l.Reason, Detail: l.Detail})
		}
		return lines, err
	}
	h.Damage = func(ctx context.Context, id record.Identity, how storetest.Damage) error {
		set := map[storetest.Damage]string{
			storetest.Garbled: `state = 99`,
			storetest.Foreign: `key = key || '\x78'`,
			storetest.Newer:   `format = format + 1`,
		}[how]
		tag, err := s.raw.Exec(ctx, s.sql(`UPDATE {schema}.record SET `+set+` WHERE hash = $1`), id.Hash())
		if err == nil && tag.RowsAffected() != 1 {
			err = errors.New("no record to damage")
		}
		return err
	}
}

func rows[T any](ctx context.Context, raw *pgxpool.Pool, scan pgx.RowToFunc[T], query string) ([]T, error) {
	found, err := raw.Query(ctx, query)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(found, scan)
}
