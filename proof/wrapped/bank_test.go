//go:build unix

package wrapped

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"

	_ "github.com/ncruces/go-sqlite3/driver"

	"github.com/refrain-dev/refrain"
)

// bank is an account that the handler commits for itself: a row that keeps the
// fence of whoever wrote it last.
type bank struct {
	db     *sql.DB
	update string
	table  string
}

func newBank(t testing.TB, s Setting) bank {
	t.Helper()
	b := bank{table: "account", update: " SET balance = ?, fence = ? WHERE id = 1 AND fence <= ?"}
	driver, dsn := "sqlite3", "file:"+filepath.Join(filepath.Dir(s.Effects), "bank.db")+"?_pragma=busy_timeout(5000)"
	if s.Engine != onFile {
		shop, err := s.Place.Shop(s.Engine)
		if err != nil {
			t.Fatal(err)
		}
		driver, dsn, b.table = "mysql", shop.DSN(""), shop.Table("account")
		if !shop.MySQL {
			driver, b.update = "pgx", " SET balance = $1, fence = $2 WHERE id = 1 AND fence <= $3"
		}
	}
	b.update = "UPDATE " + b.table + b.update
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	db.SetMaxOpenConns(2)
	for _, statement := range []string{
		"CREATE TABLE " + b.table + " (id INTEGER PRIMARY KEY, balance BIGINT, fence BIGINT)",
		"INSERT INTO " + b.table + " VALUES (1, 0, 0)",
	} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	b.db = db
	return b
}

// write is told false when a newer attempt has written.
func (b bank) write(ctx context.Context, balance int64) (written bool, err error) {
	running, _ := refrain.CallFrom(ctx)
	res, err := b.db.ExecContext(ctx, b.update, balance, running.Fence, running.Fence)
	if err != nil {
		return false, err
	}
	n, err := res.RowsAffected()
	return n > 0, err
}

func (b bank) balance(ctx context.Context) (n int64, err error) {
	err = b.db.QueryRowContext(ctx, "SELECT balance FROM "+b.table).Scan(&n)
	return n, err
}
