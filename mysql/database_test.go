package mysql

import (
	"context"
	"crypto/rand"
	"database/sql"
	"os"
	"strings"
	"testing"

	mysqldriver "github.com/go-sql-driver/mysql"
)

// serverDSN is the server the tests use.
func serverDSN() string {
	if dsn := os.Getenv("REFRAIN_TEST_MYSQL"); dsn != "" {
		return dsn
	}
	return "root@tcp(127.0.0.1:3306)/test"
}

// database makes an empty database of a random name and drops it in Cleanup. It
// returns the configuration to reach it. options follow CREATE DATABASE.
func database(t testing.TB, options ...string) *mysqldriver.Config {
	t.Helper()
	cfg, err := mysqldriver.ParseDSN(serverDSN())
	if err != nil {
		t.Fatalf("REFRAIN_TEST_MYSQL: %v", err)
	}
	name := "refrain_" + strings.ToLower(rand.Text())
	admin := poolOf(t, cfg)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := admin.PingContext(ctx); err != nil {
		if os.Getenv("REFRAIN_REQUIRE_SERVICES") == "1" {
			t.Fatalf("no MySQL server at REFRAIN_TEST_MYSQL: %v", err)
		}
		t.Skipf("no MySQL server at REFRAIN_TEST_MYSQL: %v", err)
	}
	must(t, admin, "CREATE DATABASE "+name+" "+strings.Join(options, " "))
	t.Cleanup(func() {
		_, err := admin.Exec("DROP DATABASE " + name)
		if err != nil {
			t.Error(err)
		}
	})
	cfg = cfg.Clone()
	cfg.DBName = name
	return cfg
}

// poolOf is a pool past the engine, closed in Cleanup.
func poolOf(t testing.TB, cfg *mysqldriver.Config) *sql.DB {
	t.Helper()
	connector, err := mysqldriver.NewConnector(cfg)
	if err != nil {
		t.Fatal(err)
	}
	pool := sql.OpenDB(connector)
	pool.SetMaxOpenConns(10)
	t.Cleanup(func() { _ = pool.Close() })
	return pool
}

func must(t testing.TB, pool *sql.DB, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if _, err := pool.Exec(statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// column is the first column of a query.
func column(t testing.TB, pool *sql.DB, query string, args ...any) []string {
	t.Helper()
	rows, err := pool.Query(query, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	all := []string{}
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}
