package engine

import (
	"context"
	"database/sql"
	"errors"
	"net"
	"net/url"
	"strings"

	driver "github.com/go-sql-driver/mysql"

	"github.com/refrain-dev/refrain/mysql"
)

// mysqlPlace is a database of a MySQL or MariaDB server.
type mysqlPlace struct {
	url    *url.URL
	config *driver.Config
}

const mysqlExample = "mysql://USER:PASSWORD@HOST:3306/DATABASE"

func mysqlAt(from, text string) (Place, error) {
	u, err := serverURL(from, text, mysqlExample)
	if err != nil {
		return nil, err
	}
	config, err := mysqlConfig(u)
	if err != nil {
		return nil, misnamed("parameters are those of the Go driver, go-sql-driver/mysql, and socket=PATH", "%s %s: %w", from, public(u), err)
	}
	return mysqlPlace{u, config}, nil
}

// mysqlConfig is the URL in the driver's form. The password is put in at last:
// what is wrong with a parameter is told without it.
func mysqlConfig(u *url.URL) (*driver.Config, error) {
	base, query := driver.NewConfig(), u.Query()
	base.Net, base.Addr = "tcp", u.Host
	if socket := query.Get("socket"); socket != "" {
		base.Net, base.Addr = "unix", socket
	} else if u.Port() == "" && u.Host != "" {
		base.Addr = net.JoinHostPort(u.Hostname(), "3306")
	}
	query.Del("socket")
	base.DBName = strings.Trim(u.Path, "/")
	if strings.Contains(base.DBName, "/") {
		return nil, errors.New("a database has no / in its name")
	}
	dsn := base.FormatDSN()
	if len(query) > 0 {
		if strings.Contains(dsn, "?") {
			dsn += "&"
		} else {
			dsn += "?"
		}
		dsn += query.Encode()
	}
	config, err := driver.ParseDSN(dsn)
	if err != nil {
		return nil, err
	}
	config.User = u.User.Username()
	config.Passwd, _ = u.User.Password()
	if config.Timeout == 0 {
		config.Timeout = connectWithin
	}
	return config, nil
}

func (p mysqlPlace) String() string { return public(p.url) }

// Schema implements [Place].
func (p mysqlPlace) Schema() string { return mysql.Schema() }

func (p mysqlPlace) pool(size int) (*sql.DB, error) {
	connector, err := driver.NewConnector(p.config.Clone())
	if err != nil {
		return nil, err
	}
	pool := sql.OpenDB(connector)
	pool.SetMaxOpenConns(size)
	pool.SetMaxIdleConns(size)
	return pool, nil
}

// Open implements [Place].
func (p mysqlPlace) Open(ctx context.Context, o Options) (Database, error) {
	if p.config.DBName == "" {
		return nil, misnamed("write it like "+mysqlExample, "%s names no database", p)
	}
	effects, reads := o.connections()
	reader, err := p.pool(reads)
	if err != nil {
		return nil, err
	}
	if err := reach(ctx, p, reader); err != nil {
		return nil, errors.Join(err, reader.Close())
	}
	db, err := mysql.Open(p.config.FormatDSN(), mysql.Options{Now: o.Now, Observer: o.Observer, Busy: o.Patience, Connections: effects})
	if err != nil {
		return nil, errors.Join(err, reader.Close())
	}
	return server{
		Keeper: db, Executor: db, operations: db.Operations(), reader: reader, release: reader.Close,
		sql: func(statement string) string {
			return words{serial: "BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY", quotes: "demo_quote",
				options: " ENGINE=InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"}.in(statement)
		},
		setup: "SELECT 1", // the server lets one statement about a table wait for another
		empty: `SELECT count(*) FROM information_schema.tables WHERE table_schema = database() AND table_name NOT LIKE 'refrain\_%'`,
		torn:  true,
	}, nil
}

// OpenAsItIs implements [Place].
func (p mysqlPlace) OpenAsItIs(ctx context.Context, o Options) (Database, error) {
	return p.Open(ctx, o)
}

// Own implements [Place]: a database.
func (p mysqlPlace) Own(ctx context.Context) (Place, func(context.Context) error, error) {
	name := tourName()
	inside := *p.url
	own := mysqlPlace{&inside, p.config.Clone()}
	own.url.Path, own.config.DBName = "/"+name, name
	remove := func(ctx context.Context) error {
		pool, err := p.pool(1)
		if err != nil {
			return err
		}
		return removeOwn(ctx, pool, "DROP DATABASE IF EXISTS "+name)
	}
	pool, err := p.pool(1)
	if err == nil {
		err = makeOwn(ctx, p, pool, "CREATE DATABASE "+name, "the tour makes a database and removes it: GRANT ALL ON `refrain\\_tour\\_%`.* to this user", remove)
	}
	return own, remove, err
}
