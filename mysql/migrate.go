package mysql

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"database/sql/driver"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/upkeep"
)

const (
	// migratePatience is how long a start waits for another one that migrates.
	migratePatience = time.Minute
	// tablePatience is how long a statement of a migration waits for a table in
	// use. Who wants the table meanwhile queues behind it.
	tablePatience = 5 * time.Second
)

// Status is how far a database is migrated.
type Status = upkeep.Status

// MigrationStatus reads how far the database is migrated; it changes nothing.
func (db *DB) MigrationStatus(ctx context.Context) (Status, error) {
	return migrationStatus(ctx, db.pool)
}

// Migrate brings the database to this binary's schema. Concurrent calls are
// safe; a newer schema is ErrNewerSchema and stays untouched. MySQL commits each
// statement of a schema by itself, so a migration that was interrupted runs
// again from its beginning, and its version is written last. A starting
// application does not call it on its own: a missing table is an alarm, not a
// fresh start.
func (db *DB) Migrate(ctx context.Context) error { return migrate(ctx, db.pool, tablePatience) }

func migrate(ctx context.Context, pool *sql.DB, patience time.Duration) (err error) {
	conn, err := pool.Conn(ctx)
	if err != nil {
		return fmt.Errorf("mysql: migrate: %w", err)
	}
	// The lock and the settings end with the connection.
	defer func() { _ = conn.Raw(func(any) error { return driver.ErrBadConn }) }()
	if err := lockMigration(ctx, conn, migratePatience); err != nil {
		return err
	}
	seconds := max(1, int(patience/time.Second))
	if _, err := conn.ExecContext(ctx, fmt.Sprintf(`SET SESSION lock_wait_timeout = %d, autocommit = 1`, seconds)); err != nil {
		return fmt.Errorf("mysql: migrate: %w", err)
	}
	status, err := migrationStatus(ctx, conn)
	if err != nil {
		return err
	}
	if err := status.Check(); !errors.Is(err, refrain.ErrNotMigrated) {
		return err
	}
	for _, m := range migrations()[status.Version:] {
		if err := m.apply(ctx, conn); err != nil {
			if number(err) == errLockWait {
				err = fmt.Errorf("a transaction has held a table longer than %v; end it and migrate again: %w", patience, err)
			}
			return fmt.Errorf("mysql: migration %s: %w", m.name, err)
		}
	}
	return nil
}

func (m migration) apply(ctx context.Context, conn *sql.Conn) error {
	for _, statement := range splitSQL(m.sql) {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	_, err := conn.ExecContext(ctx, `INSERT INTO refrain_migration (version, checksum, at) VALUES (?, ?, `+nowSQL+`)`,
		m.version, m.checksum)
	return err
}

// lockMigration lets one process at a time migrate this database. Names of locks
// are the server's and at most 64 characters, so the database's is hashed.
func lockMigration(ctx context.Context, conn *sql.Conn, patience time.Duration) error {
	var database sql.NullString
	if err := conn.QueryRowContext(ctx, `SELECT DATABASE() LIMIT 1`).Scan(&database); err != nil {
		return fmt.Errorf("mysql: migrate: %w", err)
	}
	if !database.Valid {
		return errors.New("mysql: migrate: the data source name has no database")
	}
	sum := sha256.Sum256([]byte(database.String))
	var got sql.NullBool
	err := conn.QueryRowContext(ctx, `SELECT GET_LOCK(?, ?) LIMIT 1`, "refrain migrate "+hex.EncodeToString(sum[:16]), int(patience/time.Second)).Scan(&got)
	if err == nil && !got.Bool {
		err = fmt.Errorf("another process has been migrating for %v", patience)
	}
	if err != nil {
		return fmt.Errorf("mysql: migrate: %w", err)
	}
	return nil
}

// migrationStatus also compares what was migrated with what this binary has: a
// file that changed after it ran left a schema nobody knows.
func migrationStatus(ctx context.Context, q runner) (Status, error) {
	known := migrations()
	s := Status{Newest: len(known)}
	rows, err := q.QueryContext(ctx, `SELECT version, checksum FROM refrain_migration ORDER BY version`+every)
	if number(err) == errNoTable {
		return s, nil
	}
	if err != nil {
		return s, fmt.Errorf("mysql: migrations: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var checksum string
		if err := rows.Scan(&s.Version, &checksum); err != nil {
			return s, fmt.Errorf("mysql: migrations: %w", err)
		}
		if 0 < s.Version && s.Version <= len(known) && checksum != known[s.Version-1].checksum {
			return s, fmt.Errorf("mysql: version %d of the schema was made by another file than this binary's %s", s.Version, known[s.Version-1].name)
		}
	}
	return s, rows.Err()
}
