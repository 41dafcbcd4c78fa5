// Package enginetest gives tests a database of their own on each engine.
package enginetest

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver pgx

	"github.com/refrain-dev/refrain/cmd/refrain/internal/engine"
)

// Engines are the schemes a test runs on.
var Engines = []string{"sqlite", "postgres", "mysql"}

// Servers are those of them that need one.
var Servers = Engines[1:]

// Each runs the test in parallel on every engine, in a database that is new.
func Each(t *testing.T, engines []string, test func(t *testing.T, db string)) {
	t.Parallel()
	for _, scheme := range engines {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			test(t, URL(t, scheme))
		})
	}
}

// Place is what db names.
func Place(t testing.TB, db string) engine.Place {
	t.Helper()
	at, err := engine.Parse("the test", db)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// URL names a new, empty database, which goes with the test.
func URL(t testing.TB, scheme string) string {
	t.Helper()
	if scheme == "sqlite" {
		return "sqlite:" + filepath.Join(t.TempDir(), "test.db")
	}
	text, remove, err := New(scheme)
	if err != nil {
		if os.Getenv("REFRAIN_REQUIRE_SERVICES") == "1" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	t.Cleanup(func() {
		if err := remove(); err != nil {
			t.Error(err)
		}
	})
	return text
}

// Server is the URL of the shared server's database.
func Server(scheme string) *url.URL {
	u := &url.URL{Scheme: scheme}
	switch scheme {
	case "postgres":
		if given, err := url.Parse(cmp.Or(os.Getenv("REFRAIN_TEST_POSTGRES"), "postgres://postgres@127.0.0.1:5432/test")); err == nil {
			u = given
		}
	case "mysql":
		if config, err := mysql.ParseDSN(cmp.Or(os.Getenv("REFRAIN_TEST_MYSQL"), "root@tcp(127.0.0.1:3306)/test")); err == nil {
			u = &url.URL{Scheme: "mysql", Host: config.Addr, Path: "/" + config.DBName, User: url.UserPassword(config.User, config.Passwd)}
			if config.Passwd == "" {
				u.User = url.User(config.User)
			}
			if config.Net == "unix" {
				u.Host, u.RawQuery = "", url.Values{"socket": {config.Addr}}.Encode()
			}
		}
	}
	return u
}

// New makes a database of the server's: of PostgreSQL two schemas, one for
// Refrain's tables, which a migration makes, and one for the application's.
func New(scheme string) (text string, remove func() error, err error) {
	u, name := Server(scheme), "refrain_test_"+strings.ToLower(rand.Text())
	pool, err := Open(u)
	if err != nil {
		return "", nil, err
	}
	defer pool.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := pool.PingContext(ctx); err != nil {
		return "", nil, fmt.Errorf("no %s server answers; REFRAIN_TEST_%s names another one: %w", scheme, strings.ToUpper(scheme), errors.New(strings.Join(strings.Fields(err.Error()), " ")))
	}
	drop := []string{"DROP DATABASE " + name}
	inside, query := *u, u.Query()
	switch scheme {
	case "postgres":
		_, err = pool.ExecContext(ctx, "CREATE SCHEMA "+name)
		query.Set("search_path", name)
		query.Set("refrain_schema", Tables(name))
		drop = []string{"DROP SCHEMA " + name + " CASCADE", "DROP SCHEMA IF EXISTS " + Tables(name) + " CASCADE"}
	case "mysql":
		_, err = pool.ExecContext(ctx, "CREATE DATABASE "+name)
		inside.Path = "/" + name
	}
	inside.RawQuery = query.Encode()
	return inside.String(), func() error { return Run(u, drop...) }, err
}

// Tables is the schema of Refrain's tables beside the application's.
func Tables(schema string) string { return schema + "_r" }

// Run runs statements on a database of the server's.
func Run(u *url.URL, statements ...string) error {
	pool, err := Open(u)
	if err != nil {
		return err
	}
	for _, statement := range statements {
		_, failed := pool.Exec(statement)
		err = errors.Join(err, failed)
	}
	return errors.Join(err, pool.Close())
}

// Open opens a pool without an engine.
func Open(u *url.URL) (*sql.DB, error) {
	query := u.Query()
	if u.Scheme == "postgres" {
		plain := *u
		query.Del("refrain_schema")
		plain.RawQuery = query.Encode()
		return sql.Open("pgx", plain.String())
	}
	config := mysql.NewConfig()
	config.Net, config.Addr, config.DBName = "tcp", u.Host, strings.TrimPrefix(u.Path, "/")
	if socket := query.Get("socket"); socket != "" {
		config.Net, config.Addr = "unix", socket
	}
	config.User = u.User.Username()
	config.Passwd, _ = u.User.Password()
	return sql.Open("mysql", config.FormatDSN())
}
