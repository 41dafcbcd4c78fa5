//go:build linux

package engines

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	"github.com/refrain-dev/refrain/proof/servers"
)

// Shop is a schema of a PostgreSQL server, or a database of a MySQL server, with
// Refrain's tables and one of orders.
type Shop struct {
	Kind
	dsn  string // of the server itself
	name string // of the schema or the database
}

// Shared is a server that other tests use, too: REFRAIN_TEST_POSTGRES or
// REFRAIN_TEST_MYSQL. Without it the test is skipped.
func Shared(t testing.TB, k Kind) (dsn string) {
	t.Helper()
	variable, dsn := "REFRAIN_TEST_POSTGRES", "postgres://postgres@127.0.0.1:5432/test"
	if k.MySQL {
		variable, dsn = "REFRAIN_TEST_MYSQL", "root@tcp(127.0.0.1:3306)/test"
	}
	if set := os.Getenv(variable); set != "" {
		dsn = set
	}
	raw, err := k.raw(dsn)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	defer raw.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if err := raw.PingContext(ctx); err != nil {
		servers.Missing(t, "no server at %s: %v", variable, err)
	}
	return dsn
}

// NewShop makes a migrated shop of a random name on the server at dsn. It is
// dropped with the test if the server can still do so.
func NewShop(t testing.TB, k Kind, dsn string) *Shop {
	t.Helper()
	s := Bare(t, k, dsn)
	if err := s.Open(t, "", 2).Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// Bare is a shop with its table of orders alone.
func Bare(t testing.TB, k Kind, dsn string) *Shop {
	t.Helper()
	s := &Shop{k, dsn, "refrain_" + strings.ToLower(rand.Text()[:12])}
	container := "SCHEMA " + s.name
	if k.MySQL {
		container = "DATABASE " + s.name
	}
	raw, err := k.raw(dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	if _, err := raw.ExecContext(t.Context(), "CREATE "+container); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		raw, err := k.raw(dsn)
		if err != nil {
			return
		}
		defer raw.Close()
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if !k.MySQL {
			container += " CASCADE"
		}
		_, _ = raw.ExecContext(ctx, "DROP "+container) // a private server may be gone
	})
	if err := s.Exec(t.Context(), "CREATE TABLE "+s.Table("orders")+
		" (n "+k.serial()+" PRIMARY KEY, client_key VARCHAR(255) NOT NULL, ref VARCHAR(40) NOT NULL, token VARCHAR(255) NOT NULL)"); err != nil {
		t.Fatal(err)
	}
	return s
}

func (k Kind) serial() string {
	if k.MySQL {
		return "BIGINT AUTO_INCREMENT"
	}
	return "BIGINT GENERATED ALWAYS AS IDENTITY"
}

// Table is the name of one of the shop's tables for a statement of any session.
func (s *Shop) Table(name string) string { return s.name + "." + name }

// At is the shop on another server that has a copy of it.
func (s *Shop) At(dsn string) *Shop { return &Shop{s.Kind, dsn, s.name} }

// As is the shop for another user of the server, who has no password.
func (s *Shop) As(user string) *Shop {
	other := *s
	if !s.MySQL {
		u, err := url.Parse(s.dsn)
		if err != nil {
			panic(err) // it was parsed before
		}
		u.User = url.User(user)
		other.dsn = u.String()
		return &other
	}
	cfg, err := mysql.ParseDSN(s.dsn)
	if err != nil {
		panic(err) // it was parsed before
	}
	cfg.User, cfg.Passwd = user, ""
	other.dsn = cfg.FormatDSN()
	return &other
}

// DSN is the shop's by way of addr; "" is the server's own address.
func (s *Shop) DSN(addr string) string {
	dsn, err := s.via(addr)
	if err != nil {
		panic(err) // it was parsed before
	}
	return dsn
}

func (s *Shop) via(addr string) (string, error) {
	if !s.MySQL {
		u, err := url.Parse(s.dsn)
		if err != nil {
			return "", err
		}
		if addr != "" {
			u.Host = addr
		}
		query := u.Query()
		query.Set("sslmode", "disable") // a proxy reads along
		u.RawQuery = query.Encode()
		return u.String(), nil
	}
	cfg, err := mysql.ParseDSN(s.dsn)
	if err != nil {
		return "", err
	}
	cfg.DBName = s.name
	if addr != "" {
		cfg.Addr = addr
	}
	return cfg.FormatDSN(), nil
}

// Addr is where the server of the shop listens.
func (s *Shop) Addr() string {
	if s.MySQL {
		cfg, err := mysql.ParseDSN(s.dsn)
		if err != nil {
			panic(err) // it was parsed before
		}
		return cfg.Addr
	}
	u, err := url.Parse(s.dsn)
	if err != nil {
		panic(err) // it was parsed before
	}
	if u.Port() == "" {
		return u.Hostname() + ":5432"
	}
	return u.Host
}

// raw is a handle past the engine.
func (k Kind) raw(dsn string) (*sql.DB, error) {
	driver := "pgx"
	if k.MySQL {
		driver = "mysql"
	}
	return sql.Open(driver, dsn)
}

// Exec runs a statement past the engine, on a connection of its own.
func (s *Shop) Exec(ctx context.Context, statement string) error {
	raw, err := s.raw(s.DSN(""))
	if err != nil {
		return err
	}
	defer raw.Close()
	if _, err := raw.ExecContext(ctx, statement); err != nil {
		return fmt.Errorf("%s: %w", statement, err)
	}
	return nil
}

// Ints is the one row of a query, past the engine.
func (s *Shop) Ints(ctx context.Context, query string, into ...*int) error {
	raw, err := s.raw(s.DSN(""))
	if err != nil {
		return err
	}
	defer raw.Close()
	dest := make([]any, len(into))
	for i, d := range into {
		dest[i] = d
	}
	return raw.QueryRowContext(ctx, query).Scan(dest...)
}
