package ext

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/refrain-dev/refrain/postgres"
)

// Postgres is a shop in a database of its own.
func Postgres(ctx context.Context, pool *pgxpool.Pool) (Shop[postgres.Tx], func() error, error) {
	db, err := postgres.New(pool)
	if err != nil {
		return Shop[postgres.Tx]{}, nil, err
	}
	closed := func() error { return db.Close(context.WithoutCancel(ctx)) }
	if err := db.Migrate(ctx); err != nil {
		return Shop[postgres.Tx]{}, closed, err
	}
	if _, err := pool.Exec(ctx, `CREATE TABLE payments (id bigint PRIMARY KEY, state text NOT NULL)`); err != nil {
		return Shop[postgres.Tx]{}, closed, err
	}
	begin := func(ctx context.Context, tx postgres.Tx, id int64) error {
		_, err := tx.Exec(ctx, `INSERT INTO payments VALUES ($1, 'pending')`, id)
		return err
	}
	end := func(ctx context.Context, tx postgres.Tx, id int64) error {
		_, err := tx.Exec(ctx, `UPDATE payments SET state = 'paid' WHERE id = $1`, id)
		return err
	}
	return Shop[postgres.Tx]{
		Name: fmt.Sprintf("PostgreSQL, pool of %d", pool.Config().MaxConns), Engine: db, Store: db.Operations(), Begin: begin, End: end,
		Pair: func(ctx context.Context, id int64) error {
			for _, half := range []func(context.Context, postgres.Tx, int64) error{begin, end} {
				if err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error { return half(ctx, tx, id) }); err != nil {
					return err
				}
			}
			return nil
		},
		Clone: func(ctx context.Context, count int, due bool) error {
			when := `NULL::int8, created, 4, created`
			if due {
				when = `created, created, 1, NULL`
			}
			_, err := pool.Exec(ctx, fmt.Sprintf(`INSERT INTO refrain.external (ref, version, step, provider, partition, disputed, format, data, input, due, created, state, final)
SELECT uuid_send(gen_random_uuid()) || '\x0000'::bytea, 1, step, 'bench', '', false, format, data, input, %s
FROM (SELECT * FROM refrain.external LIMIT 1) e, generate_series(1, %d)`, when, count))
			if err == nil {
				_, err = pool.Exec(ctx, `VACUUM ANALYZE refrain.external`)
			}
			return err
		},
		Plan: func(ctx context.Context, provider string) (string, error) {
			rows, err := pool.Query(ctx, `EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT * FROM refrain.external
WHERE provider = $1 AND due <= $2 ORDER BY due, seq LIMIT 64 FOR UPDATE SKIP LOCKED`, provider, int64(1)<<62)
			if err != nil {
				return "", err
			}
			plan, err := pgx.CollectRows(rows, pgx.RowTo[string])
			return strings.Join(plan, "\n"), err
		},
	}, closed, nil
}
