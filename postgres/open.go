package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/refrain-dev/refrain/record"
)

// Open connects to the database dsn names, a URL or keywords as pgx takes them,
// with a pool of its own. pool_max_conns, default_query_exec_mode and the other
// parameters of pgx work; for a pooler in transaction mode use
// default_query_exec_mode=exec or simple_protocol. The tables are made by Migrate;
// until then every call answers [refrain.ErrNotMigrated].
func Open(ctx context.Context, dsn string, options ...Options) (*DB, error) {
	opts, err := single(options)
	if err != nil {
		return nil, err
	}
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, err // pgx takes the password out
	}
	Configure(config)
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, fmt.Errorf("postgres: open: %w", err)
	}
	db := open(pool, opts)
	db.owned = true
	return db, nil
}

// New works on the application's own pool, which the application keeps and
// closes. It starts nothing and asks nothing of the server.
//
// The pool should have gone through [Configure]. Otherwise nobody hears that a
// COMMIT was acknowledged without its synchronous standbys: then each COMMIT is
// followed by another one, which carries a message alone, whenever
// synchronous_standby_names is set. And statements an effect issues through
// tx.Conn() are seen by PostgreSQL alone.
func New(pool *pgxpool.Pool, options ...Options) (*DB, error) {
	opts, err := single(options)
	if err != nil {
		return nil, err
	}
	if pool == nil {
		return nil, errors.New("postgres: no pool")
	}
	return open(pool, opts), nil
}

func open(pool *pgxpool.Pool, opts Options) *DB {
	config := pool.Config()
	_, heard := config.ConnConfig.Tracer.(*hooked)
	db := &DB{
		conns:   pool,
		most:    min(LateCommits, max(1, config.MaxConns/2)),
		mark:    "refrain_" + rand.Text(),
		between: func(_ string, run func() error) error { return run() },
	}
	db.ended, db.end = context.WithCancel(context.Background())
	db.Store = Store{
		opts:    opts,
		sql:     newQueries(opts.Schema),
		read:    pooled{db},
		write:   db.update,
		notices: heard,
		pool:    int(config.MaxConns),
	}
	db.acknowledge = func(ctx context.Context, found seen) error { return db.acks.confirmed(ctx, found, defaultCommitWait) }
	db.acks.emit = db.emit
	db.driver = record.Driver{Load: db.Load, Glance: db.glance, Change: db.Change, Unseen: db.unseen, Wake: db.ears.wake}
	return db
}
