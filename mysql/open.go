package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	driverlib "github.com/go-sql-driver/mysql"
)

// Open prepares the engine on the database the DSN names; it does not connect
// yet. Its connections are its own: they send several statements at once, have
// the isolation level of the options, and see every statement of an effect. What
// else the DSN says (parseTime, loc, charset, TLS, timeouts) holds for effects,
// too. The tables are made by [DB.Migrate]; until then every call answers
// [refrain.ErrNotMigrated].
func Open(dsn string, options ...Options) (*DB, error) {
	opts, err := single(options)
	if err != nil {
		return nil, err
	}
	cfg, err := driverlib.ParseDSN(dsn)
	if err != nil {
		return nil, fmt.Errorf("mysql: %w", err)
	}
	if err := fit(cfg); err != nil {
		return nil, err
	}
	connector, err := driverlib.NewConnector(cfg)
	if err != nil {
		return nil, fmt.Errorf("mysql: %w", err)
	}
	marker := newMarker()
	pool := sql.OpenDB(guarding{connector, opts.Isolation, marker})
	pool.SetMaxOpenConns(opts.Connections)
	pool.SetMaxIdleConns(opts.Connections)
	pool.SetConnMaxIdleTime(time.Minute) // below any server's wait_timeout worth having
	return newDB(pool, opts, marker, true), nil
}

// fit makes a configuration ours, or says why it cannot be.
func fit(cfg *driverlib.Config) error {
	if cfg.DBName == "" {
		return errors.New("mysql: Open needs a DSN that names the database")
	}
	cfg.MultiStatements, cfg.InterpolateParams = true, true
	cfg.ColumnsWithAlias = false
	cfg.MaxAllowedPacket = 0 // what the server takes, not what anybody guesses
	return nil
}

// New works on the application's own handle of the go-sql-driver. It sends plain
// statements, twice as many round trips as Open. What only a connection of ours
// can see, a swallowed lock timeout in a prepared statement or in rows, is the
// effect's own; a transaction that has ended under way is noticed by its start
// marker. It refuses settings that break a promise, see [DB.Doctor].
func New(pool *sql.DB, options ...Options) (*DB, error) {
	opts, err := single(options)
	if err != nil {
		return nil, err
	}
	db := newDB(pool, opts, newMarker(), false)
	ctx, cancel := context.WithTimeout(context.Background(), opts.Busy)
	defer cancel()
	return db, sound(ctx, pool)
}

func newDB(pool *sql.DB, opts Options, marker string, owned bool) *DB {
	db := &DB{opts: opts, pool: pool, owned: owned, marker: marker, texts: make(map[kind]*texts)}
	for _, locked := range [...]bool{false, true} {
		for _, k := range [...]kind{{false, locked, false}, {true, locked, false}, {true, locked, true}} {
			db.texts[k] = newTexts(marker, opts.Isolation, k)
		}
	}
	db.noLock.Store(opts.NoLock)
	db.driver.Load = db.load
	db.driver.Change = db.Change
	db.driver.Unseen = db.unseen
	return db
}
