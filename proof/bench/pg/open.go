package pg

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Pool is the number of connections every case shares: about four per core.
const Pool = 8

// Scratch makes a database of its own on the server at dsn and returns the
// configuration of a pool on it, and what drops it again.
func Scratch(ctx context.Context, dsn string) (*pgxpool.Config, func() error, error) {
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, nil, err
	}
	name := fmt.Sprintf("refrain_bench_%08x", rand.Uint32())
	run := func(sql string) error {
		conn, err := pgx.ConnectConfig(context.WithoutCancel(ctx), config.ConnConfig.Copy())
		if err != nil {
			return err
		}
		_, err = conn.Exec(context.WithoutCancel(ctx), sql)
		return errors.Join(err, conn.Close(context.WithoutCancel(ctx)))
	}
	if err := run("CREATE DATABASE " + name); err != nil {
		return nil, nil, err
	}
	own := config.Copy()
	own.ConnConfig.Database = name
	own.MaxConns = Pool
	return own, func() error { return run("DROP DATABASE " + name + " WITH (FORCE)") }, nil
}

// Create makes the prototype's tables and preloads count records.
func (n Naked) Create(ctx context.Context, count int, key func(i int) string) error {
	if _, err := n.Pool.Exec(ctx, schemaSQL); err != nil {
		return err
	}
	for from := 0; from < count; from += 1000 {
		var batch pgx.Batch
		for i := from; i < min(from+1000, count); i++ {
			batch.Queue(nakedInsert, nakedArgs(hashOf(key(i)), key(i), int64(i)*1000)...)
		}
		if err := n.Pool.SendBatch(ctx, &batch).Close(); err != nil {
			return err
		}
	}
	_, err := n.Pool.Exec(ctx, `VACUUM ANALYZE`)
	return err
}
