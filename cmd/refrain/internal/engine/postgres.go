package engine

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"net/url"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/refrain-dev/refrain/postgres"
)

// postgresPlace is a schema in a PostgreSQL database; the application's tables
// are in the first schema of the search path.
type postgresPlace struct {
	url    *url.URL
	schema string // of Refrain's tables
}

// schemaParameter names the schema of Refrain's tables in a URL.
const schemaParameter = "refrain_schema"

func postgresAt(from, text string) (Place, error) {
	u, err := serverURL(from, text, "postgres://USER:PASSWORD@HOST:5432/DATABASE")
	if err != nil {
		return nil, err
	}
	p := postgresPlace{u, cmp.Or(u.Query().Get(schemaParameter), "refrain")}
	if _, err := p.config(); err != nil {
		return nil, misnamed("write it like postgres://USER:PASSWORD@HOST:5432/DATABASE?sslmode=require", "%s %s: %w", from, p, err)
	}
	return p, nil
}

func (p postgresPlace) String() string { return public(p.url) }

// config reads the URL as the driver does, and has the engine hear notices. The
// driver sees no password, which its errors would tell.
func (p postgresPlace) config() (*pgx.ConnConfig, error) {
	u, query := *p.url, p.url.Query()
	password, given := u.User.Password()
	if !given {
		password = query.Get("password")
	}
	query.Del("password")
	query.Del(schemaParameter)
	u.RawQuery = query.Encode()
	if u.User != nil {
		u.User = url.User(u.User.Username())
	}
	config, err := pgx.ParseConfig(u.String())
	if err != nil {
		if why := errors.Unwrap(err); why != nil {
			err = why
		}
		return nil, err
	}
	if password != "" {
		config.Password = password
	}
	if !query.Has("connect_timeout") {
		config.ConnectTimeout = connectWithin
	}
	postgres.ConfigureSQL(config)
	return config, nil
}

func (p postgresPlace) pool(size int) (*sql.DB, error) {
	config, err := p.config()
	if err != nil {
		return nil, err
	}
	pool := stdlib.OpenDB(*config)
	pool.SetMaxOpenConns(size)
	pool.SetMaxIdleConns(size)
	return pool, nil
}

// Open implements [Place].
func (p postgresPlace) Open(ctx context.Context, o Options) (Database, error) {
	effects, reads := o.connections()
	reader, err := p.pool(reads)
	if err != nil {
		return nil, err
	}
	if err := reach(ctx, p, reader); err != nil {
		return nil, errors.Join(err, reader.Close())
	}
	pool, err := p.pool(effects)
	if err != nil {
		return nil, errors.Join(err, reader.Close())
	}
	release := func() error { return errors.Join(reader.Close(), pool.Close()) }
	db, err := postgres.NewSQL(pool, postgres.Options{Schema: p.schema, Now: o.Now, Observer: o.Observer, Busy: o.Patience})
	if err != nil {
		return nil, errors.Join(err, release())
	}
	return server{
		Keeper: db, Executor: db, operations: db.Operations(), reader: reader, release: release,
		sql: postgresSQL,
		// CREATE TABLE IF NOT EXISTS is not safe against itself.
		setup: "SELECT pg_advisory_xact_lock(hashtext('refrain demo'))",
		empty: "SELECT count(*) FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace WHERE nspname = " + literal(p.schema),
	}, nil
}

// Schema implements [Place].
func (p postgresPlace) Schema() string { return postgres.Schema(p.schema) }

// OpenAsItIs implements [Place].
func (p postgresPlace) OpenAsItIs(ctx context.Context, o Options) (Database, error) {
	return p.Open(ctx, o)
}

// Own implements [Place]: a schema for both, Refrain's tables and the tour's.
func (p postgresPlace) Own(ctx context.Context) (Place, func(context.Context) error, error) {
	name := tourName()
	inside := *p.url
	query := inside.Query()
	query.Set("search_path", name)
	query.Set(schemaParameter, name)
	inside.RawQuery = query.Encode()
	remove := func(ctx context.Context) error {
		pool, err := p.pool(1)
		if err != nil {
			return err
		}
		return removeOwn(ctx, pool, "DROP SCHEMA IF EXISTS "+name+" CASCADE")
	}
	pool, err := p.pool(1)
	if err == nil {
		err = makeOwn(ctx, p, pool, "CREATE SCHEMA "+name, "the tour makes a schema and removes it: grant CREATE on the database to this user", remove)
	}
	return postgresPlace{&inside, name}, remove, err
}

// postgresSQL numbers the arguments.
func postgresSQL(statement string) string {
	parts := strings.Split(words{serial: "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY", quotes: "demo_quote"}.in(statement), "?")
	var b strings.Builder
	for i, part := range parts {
		if i > 0 {
			b.WriteString("$" + strconv.Itoa(i))
		}
		b.WriteString(part)
	}
	return b.String()
}

func literal(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
