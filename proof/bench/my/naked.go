// Package my gives the benchmark's rows on MySQL and MariaDB: the bare effect,
// what most libraries do, a naked prototype of our SQL, and the engine itself.
package my

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/refrain-dev/refrain/proof/bench/naked"
)

// schema are the prototype's table (a narrow index by hash) and that of the usual
// layout (a text key, an index on expiry), with the same columns.
var schema = []string{
	`CREATE TABLE orders (id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, tenant VARCHAR(64) NOT NULL, sku VARCHAR(64) NOT NULL, amount BIGINT NOT NULL)`,
	`CREATE TABLE naked_operation (operation VARBINARY(255) PRIMARY KEY, identity VARBINARY(255) NOT NULL, horizon BIGINT)`,
	`INSERT INTO naked_operation VALUES ('orders.create', 'tenant', NULL)`,
	`CREATE TABLE naked (n BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, hash BINARY(16) NOT NULL, ref BINARY(18) NOT NULL,
 created BIGINT NOT NULL, replay_until BIGINT NOT NULL, remember_until BIGINT NOT NULL, status INT NOT NULL, state SMALLINT NOT NULL,
 raw BINARY(32) NOT NULL, deciding BINARY(32) NOT NULL, scope VARBINARY(255) NOT NULL, operation VARBINARY(255) NOT NULL,
 ` + "`key`" + ` VARBINARY(255) NOT NULL, effect BLOB NOT NULL, header MEDIUMBLOB, body LONGBLOB, UNIQUE (hash), UNIQUE (ref))`,
	`CREATE TABLE usual (scope VARCHAR(255) NOT NULL, operation VARCHAR(255) NOT NULL, ` + "`key`" + ` VARCHAR(255) NOT NULL, ref CHAR(32) NOT NULL UNIQUE,
 state SMALLINT NOT NULL, created DATETIME(6) NOT NULL, expires DATETIME(6) NOT NULL, remember DATETIME(6) NOT NULL, status INT,
 raw BINARY(32) NOT NULL, deciding BINARY(32) NOT NULL, effect TEXT, header MEDIUMBLOB, body LONGBLOB,
 PRIMARY KEY (scope, operation, ` + "`key`" + `), INDEX (expires)) CHARACTER SET latin1`,
}

const (
	// Pool is the number of connections every case shares.
	Pool = 32
	// Bare is the base of every row.
	Bare = "bare"

	effectSQL = `INSERT INTO orders (tenant, sku, amount) VALUES (?, ?, ?)`
	selects   = `o.identity, o.horizon, r.state, r.replay_until, r.remember_until, r.scope, r.operation, r.key, r.raw, r.deciding, r.status, r.ref, r.effect, r.header, r.body
FROM (SELECT 1) one LEFT JOIN naked_operation o ON o.operation = ? LEFT JOIN naked r ON r.hash = ?`
	begin = `BEGIN; SAVEPOINT naked; SELECT GET_LOCK(?, 0), ` + selects
	read  = `SELECT 1, ` + selects
	end   = `RELEASE SAVEPOINT naked; INSERT INTO naked (hash, ref, created, replay_until, remember_until, status, state, raw, deciding, scope, operation, ` + "`key`" + `, effect, header, body)
VALUES (?, ?, ?, ?, ?, 201, 3, ?, ?, ?, ?, ?, ?, ?, ?); COMMIT; DO RELEASE_LOCK(?)`
	scope, operation = "tenant=north", "orders.create"
)

var (
	effectArgs = []any{"north", "A-1", 2}
	digest     = sha256.Sum256([]byte("request"))
	headers    = make([]byte, 90)
)

// Naked is the prototype: our statements without anything around them.
type Naked struct{ DB *sql.DB }

// Scratch makes a database of its own on the server at dsn and returns a DSN for
// it, and what drops it again.
func Scratch(ctx context.Context, dsn string) (string, func() error, error) {
	config, err := mysql.ParseDSN(dsn)
	if err != nil {
		return "", nil, err
	}
	name := fmt.Sprintf("refrain_bench_%08x", rand.Uint32())
	run := func(text string) error {
		db, err := sql.Open("mysql", dsn)
		if err != nil {
			return err
		}
		_, err = db.ExecContext(context.WithoutCancel(ctx), text)
		return errors.Join(err, db.Close())
	}
	if err := run("CREATE DATABASE " + name); err != nil {
		return "", nil, err
	}
	config.DBName = name
	return config.FormatDSN(), func() error { return run("DROP DATABASE " + name) }, nil
}

// New opens the prototype on dsn and preloads count records: several statements in one round trip, with the
// arguments put in by the driver.
func New(ctx context.Context, dsn string, count int) (Naked, error) {
	config, err := mysql.ParseDSN(dsn)
	if err != nil {
		return Naked{}, err
	}
	level, err := isolation(ctx, dsn)
	if err != nil {
		return Naked{}, err
	}
	config.MultiStatements, config.InterpolateParams = true, true
	config.Params = map[string]string{level: "'READ-COMMITTED'"}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return Naked{}, err
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(Pool)
	db.SetMaxIdleConns(Pool)
	for _, statement := range schema {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return Naked{}, errors.Join(err, db.Close())
		}
	}
	n := Naked{db}
	for i := range count {
		if err := n.Execute(ctx, naked.Preloaded(i)); err != nil {
			return Naked{}, errors.Join(err, db.Close())
		}
	}
	return n, nil
}

// isolation is what the server calls the variable.
func isolation(ctx context.Context, dsn string) (variable string, err error) {
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		return "", err
	}
	defer db.Close()
	err = db.QueryRowContext(ctx, `SHOW VARIABLES WHERE variable_name IN ('tx_isolation', 'transaction_isolation')`).Scan(&variable, new(string))
	return variable, err
}

func hashOf(key string) (hash [16]byte) {
	sum := sha256.Sum256([]byte(scope + "\x00" + operation + "\x00" + key))
	copy(hash[:], sum[:])
	return hash
}

func refOf(hash [16]byte, now int64) []byte {
	var ref [18]byte
	binary.BigEndian.PutUint64(ref[:], uint64(now/1000)<<16)
	copy(ref[6:], hash[:12])
	return ref[:]
}

// Bare is the effect in a transaction of its own, three round trips.
func (n Naked) Bare(ctx context.Context) error {
	tx, err := n.DB.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, effectSQL, effectArgs...); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// Execute is the effect with its record in three round trips.
func (n Naked) Execute(ctx context.Context, key string) error {
	conn, err := n.DB.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	hash := hashOf(key)
	lock := "naked:" + hex.EncodeToString(hash[:])
	rows, err := conn.QueryContext(ctx, begin, lock, operation, hash[:])
	if err != nil {
		return err
	}
	var found row
	for more := true; more; more = rows.NextResultSet() {
		for rows.Next() {
			if err := rows.Scan(found.dest()...); err != nil {
				return errors.Join(err, rows.Close())
			}
		}
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return err
	}
	if found.locked != 1 {
		return errors.New("held")
	}
	if _, err := conn.ExecContext(ctx, effectSQL, effectArgs...); err != nil {
		return err
	}
	now, day := time.Now().UnixMicro(), (24 * time.Hour).Microseconds()
	_, err = conn.ExecContext(ctx, end, hash[:], refOf(hash, now), now, now+day, now+30*day, digest[:], digest[:],
		scope, operation, key, "/orders/1", headers, naked.Body, lock)
	return err
}

// Replay reads a record in one round trip.
func (n Naked) Replay(ctx context.Context, key string) error {
	var found row
	hash := hashOf(key)
	if err := n.DB.QueryRowContext(ctx, read, operation, hash[:]).Scan(found.dest()...); err != nil {
		return err
	}
	if found.body == nil {
		return errors.New("no record")
	}
	return nil
}

type row struct {
	locked                                                                                        int
	identity, horizon, state, replay, remember, scope, operation, key, raw, deciding, status, ref []byte
	effect, header, body                                                                          []byte
}

func (r *row) dest() []any {
	return []any{&r.locked, &r.identity, &r.horizon, &r.state, &r.replay, &r.remember, &r.scope, &r.operation, &r.key, &r.raw, &r.deciding,
		&r.status, &r.ref, &r.effect, &r.header, &r.body}
}
