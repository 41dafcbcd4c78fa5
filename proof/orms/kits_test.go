package orms

import (
	"context"
	"database/sql"
	"testing"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
	"github.com/jmoiron/sqlx"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
	gormpostgres "gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/refrain-dev/refrain"
)

// row is the business row the toolkits write.
type row struct {
	bun.BaseModel `bun:"table:orders" gorm:"-"`

	Item string `db:"item" bun:"item,pk" gorm:"primaryKey"`
}

func (row) TableName() string { return "orders" }

// joinable is a toolkit's transaction.
type joinable struct {
	tx       refrain.SQLTx // what ExecuteIn is given
	insert   func(ctx context.Context, item string) error
	commit   func() error
	rollback func() error
}

// kit is a toolkit, or the database/sql driver alone.
type kit struct {
	name   string
	driver string
	begin  func(t *testing.T, db *sql.DB, opts *sql.TxOptions) joinable
}

var kits = []kit{
	{"gorm", "pgx", beginGORM(gorm.Config{})},
	{"gorm with prepared statements", "pgx", beginGORM(gorm.Config{PrepareStmt: true})},
	{"sqlx", "pgx", beginSQLX},
	{"bun", "pgx", beginBun},
	{"bun on lib/pq", "postgres", beginBun},
	{"ent", "pgx", beginEnt},
	{"ent on lib/pq", "postgres", beginEnt},
	{"pgx through database/sql", "pgx", beginPlain},
	{"lib/pq", "postgres", beginPlain},
}

const insertion = `INSERT INTO orders (item) VALUES ($1)`

func beginPlain(t *testing.T, db *sql.DB, opts *sql.TxOptions) joinable {
	tx, err := db.BeginTx(t.Context(), opts)
	must(t, err)
	return joinable{tx, func(ctx context.Context, item string) error {
		_, err := tx.ExecContext(ctx, insertion, item)
		return err
	}, tx.Commit, tx.Rollback}
}

// A GORM transaction is joined by its Statement.ConnPool.
func beginGORM(config gorm.Config) func(*testing.T, *sql.DB, *sql.TxOptions) joinable {
	return func(t *testing.T, db *sql.DB, opts *sql.TxOptions) joinable {
		config.Logger = logger.Discard
		g, err := gorm.Open(gormpostgres.New(gormpostgres.Config{Conn: db}), &config)
		must(t, err)
		tx := g.Begin(opts)
		must(t, tx.Error)
		return joinable{tx.Statement.ConnPool, func(ctx context.Context, item string) error {
			return tx.WithContext(ctx).Create(&row{Item: item}).Error
		}, func() error { return tx.Commit().Error }, func() error { return tx.Rollback().Error }}
	}
}

// A *sqlx.Tx is joined as it is.
func beginSQLX(t *testing.T, db *sql.DB, opts *sql.TxOptions) joinable {
	tx, err := sqlx.NewDb(db, "pgx").BeginTxx(t.Context(), opts)
	must(t, err)
	return joinable{tx, func(ctx context.Context, item string) error {
		_, err := tx.NamedExecContext(ctx, `INSERT INTO orders (item) VALUES (:item)`, row{Item: item})
		return err
	}, tx.Commit, tx.Rollback}
}

// A bun.Tx formats statements by itself and takes no $1: it is joined by the
// *sql.Tx it embeds.
func beginBun(t *testing.T, db *sql.DB, opts *sql.TxOptions) joinable {
	tx, err := bun.NewDB(db, pgdialect.New()).BeginTx(t.Context(), opts)
	must(t, err)
	return joinable{tx.Tx, func(ctx context.Context, item string) error {
		_, err := tx.NewInsert().Model(&row{Item: item}).Exec(ctx)
		return err
	}, tx.Commit, tx.Rollback}
}

// The transaction of ent's SQL driver holds a *sql.Tx.
func beginEnt(t *testing.T, db *sql.DB, opts *sql.TxOptions) joinable {
	begun, err := entsql.OpenDB(dialect.Postgres, db).BeginTx(t.Context(), opts)
	must(t, err)
	tx := begun.(*entsql.Tx)
	return joinable{tx.ExecQuerier.(*sql.Tx), func(ctx context.Context, item string) error {
		query, args := entsql.Dialect(dialect.Postgres).Insert("orders").Columns("item").Values(item).Query()
		return tx.Exec(ctx, query, args, nil)
	}, tx.Commit, tx.Rollback}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
