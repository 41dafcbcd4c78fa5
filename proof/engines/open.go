//go:build linux

package engines

import (
	"context"
	"errors"

	driver "github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/mysql"
	"github.com/refrain-dev/refrain/postgres"
)

// The driver writes to the standard error whenever a connection breaks.
func init() { _ = driver.SetLogger(&driver.NopLogger{}) } // it fails for nil alone

func openPgx(s *Shop, dsn string, pool int, o Options) (*Engine, error) {
	db, p, err := s.pgx(dsn, pool, o)
	if err != nil {
		return nil, err
	}
	return engine(s, closing{db, shut(p)}, acquired(p), db, func(ctx context.Context, tx postgres.Tx, query string, args ...any) error {
		_, err := tx.Exec(ctx, query, args...)
		return err
	}), nil
}

func openGroup(s *Shop, dsn string, pool int, o Options) (*Engine, error) {
	db, p, err := s.pgx(dsn, pool, o)
	if err != nil {
		return nil, err
	}
	return engine(s, closing{db, shut(p)}, acquired(p), db.Group(), func(_ context.Context, batch *postgres.Batch, query string, args ...any) error {
		batch.Queue(query, args...)
		return nil
	}), nil
}

// pgx is the engine on a pool of the application's own, which can be asked how
// many of its connections are in use.
func (s *Shop) pgx(dsn string, pool int, o Options) (*postgres.DB, *pgxpool.Pool, error) {
	cfg, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, nil, err
	}
	cfg.MaxConns = int32(pool)
	o.apply(cfg.ConnConfig)
	postgres.Configure(cfg)
	p, err := pgxpool.NewWithConfig(context.Background(), cfg)
	if err != nil {
		return nil, nil, err
	}
	db, err := postgres.New(p, postgres.Options{Schema: s.name, Now: o.Now, Busy: o.Busy, Observer: o.Observer})
	if err != nil {
		p.Close()
	}
	return db, p, err
}

func (o Options) apply(cfg *pgx.ConnConfig) {
	if o.Plain {
		cfg.DefaultQueryExecMode = pgx.QueryExecModeExec
	}
	if o.Writable {
		cfg.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
}

func acquired(p *pgxpool.Pool) func() int { return func() int { return int(p.Stat().AcquiredConns()) } }

func shut(p *pgxpool.Pool) func() error { return func() error { p.Close(); return nil } }

func openSQL(s *Shop, dsn string, pool int, o Options) (*Engine, error) {
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, err
	}
	o.apply(cfg)
	postgres.ConfigureSQL(cfg)
	handle := stdlib.OpenDB(*cfg)
	handle.SetMaxOpenConns(pool)
	handle.SetMaxIdleConns(pool)
	db, err := postgres.NewSQL(handle, postgres.Options{Schema: s.name, Now: o.Now, Busy: o.Busy, Observer: o.Observer})
	if err != nil {
		return nil, errors.Join(err, handle.Close())
	}
	return engine(s, closing{db, handle.Close}, func() int { return handle.Stats().InUse }, db, execSQL), nil
}

func openMySQL(s *Shop, dsn string, pool int, o Options) (*Engine, error) {
	db, err := mysql.Open(dsn, mysql.Options{Connections: pool, Now: o.Now, Busy: o.Busy, Observer: o.Observer})
	if err != nil {
		return nil, err
	}
	return engine(s, db, func() int { return -1 }, db, execSQL), nil
}

func execSQL(ctx context.Context, tx refrain.SQLTx, query string, args ...any) error {
	_, err := tx.ExecContext(ctx, query, args...)
	return err
}
