package main

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/refrain-dev/refrain/postgres"

	"github.com/refrain-dev/refrain/proof/bench/ext"
	"github.com/refrain-dev/refrain/proof/bench/pg"
)

// external measures operations outside the database. Its sizes are its own: what
// it counts takes longer than one case of the other suites.
func (b bench) external(ctx context.Context) (err error) {
	size := ext.Sizes{Operations: 2000, Rounds: b.rounds, Pickups: 300, Idle: 5 * time.Second, Settled: 1_000_000, Due: 10_000}
	file, closed, err := ext.SQLite(ctx, filepath.Join(b.dir, "external.db"))
	if closed != nil {
		defer func() { err = errors.Join(err, closed()) }()
	}
	if err == nil {
		err = ext.Run(ctx, b.out, file, size)
	}
	if err != nil {
		return err
	}
	config, drop, err := pg.Scratch(ctx, cmp.Or(os.Getenv("REFRAIN_TEST_POSTGRES"), "postgres://postgres@127.0.0.1:5432/test"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, drop()) }()
	postgres.Configure(config)
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return err
	}
	defer pool.Close()
	server, left, err := ext.Postgres(ctx, pool)
	if left != nil {
		defer func() { err = errors.Join(err, left()) }()
	}
	if err != nil {
		return err
	}
	return ext.Run(ctx, b.out, server, size)
}
