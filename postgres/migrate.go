package postgres

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/upkeep"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

type migration struct {
	version  int
	name     string
	sql      string
	checksum string // of the file, before the schema's name is put in
}

// migrations in order; the files' numbers are their versions.
func migrations() []migration {
	names, _ := fs.Glob(migrationFiles, "migrations/*.sql") // the pattern is well-formed
	var ms []migration
	for i, name := range names {
		text, _ := fs.ReadFile(migrationFiles, name) // embedded: cannot fail
		sum := sha256.Sum256(text)
		ms = append(ms, migration{i + 1, strings.TrimPrefix(name, "migrations/"), string(text), hex.EncodeToString(sum[:])})
	}
	return ms
}

// Schema is the SQL that Migrate runs to make the schema of this name, to read or
// to run by hand in one transaction per version.
func Schema(name string) string {
	q := newQueries(name)
	var b strings.Builder
	for _, m := range migrations() {
		fmt.Fprintf(&b, "-- %s\n%s\n", m.name, q.text(m.sql))
		b.WriteString(q.text(fmt.Sprintf("INSERT INTO {schema}.migration (version, checksum, at)\nVALUES (%d, '%s', %s);\n\n", m.version, m.checksum, clock)))
	}
	return b.String()
}

// errChecksum: the tables were made by a file that is not the one this binary has.
var errChecksum = errors.New("postgres: an applied migration differs from this binary's")

// MigrationStatus reads how far the database is migrated; it changes nothing.
func (s *Store) MigrationStatus(ctx context.Context) (upkeep.Status, error) {
	status, err := s.applied(ctx, s.read)
	if errors.Is(err, errChecksum) { // the version is what it is; Migrate and Doctor tell
		err = nil
	}
	return status, err
}

// applied reads the versions and compares their checksums.
func (s *Store) applied(ctx context.Context, q runner) (upkeep.Status, error) {
	known := migrations()
	status := upkeep.Status{Newest: len(known)}
	var exists bool
	err := q.row(ctx, `SELECT to_regclass($1::text) IS NOT NULL`, s.sql.text(`{schema}.migration`)).Scan(&exists)
	if err != nil || !exists {
		return status, err
	}
	var differs error
	err = each(ctx, q, func(r scanner) error {
		var version int64
		var checksum string
		if err := r.Scan(&version, &checksum); err != nil {
			return err
		}
		status.Version = int(version)
		if i := status.Version - 1; i >= 0 && i < len(known) && checksum != known[i].checksum {
			differs = fmt.Errorf("%w: %s was applied as %.12s…, it is %.12s… now", errChecksum, known[i].name, checksum, known[i].checksum)
		}
		return nil
	}, s.sql.text(`SELECT version, checksum FROM {schema}.migration ORDER BY version`))
	return status, errors.Join(err, differs)
}

// Migrate brings the database to this binary's schema, each version in one
// transaction. Concurrent calls are safe; a newer schema is
// [refrain.ErrNewerSchema] and stays untouched, and so does one whose applied
// files differ from this binary's. It needs the right to create the schema, or to
// create in one that exists. It gives up with an error when a table is in use for
// longer than 5 s. A starting application does not call it on its own: a missing
// table is an alarm, not a fresh start.
func (s *Store) Migrate(ctx context.Context) error {
	for {
		done, err := s.migrateOne(ctx)
		if err != nil || done {
			return err
		}
	}
}

// How long a migration waits: for another one, and for a table in use.
const (
	migrateTurn = "60s"
	migrateLock = "5s"
)

func (s *Store) migrateOne(ctx context.Context) (done bool, err error) {
	err = s.write(ctx, func(ctx context.Context, tx runner) error {
		if err := patience(ctx, tx, migrateTurn); err != nil {
			return err
		}
		if _, err := tx.exec(ctx, `SELECT pg_advisory_xact_lock($1::int8)`, int64(salt("migrate "+s.sql.schema))); err != nil {
			return waited(err, "another migration", migrateTurn)
		}
		if err := patience(ctx, tx, migrateLock); err != nil {
			return err
		}
		status, err := s.applied(ctx, tx)
		if newer := status.Check(); errors.Is(newer, refrain.ErrNewerSchema) {
			return newer
		}
		if err != nil {
			return err
		}
		if done = status.Version == status.Newest; done {
			return nil
		}
		return s.applyMigration(ctx, tx, migrations()[status.Version])
	})
	return done, err
}

func (s *Store) applyMigration(ctx context.Context, tx runner, m migration) error {
	var exists bool
	if err := tx.row(ctx, `SELECT to_regnamespace($1::text) IS NOT NULL`, s.sql.schema).Scan(&exists); err != nil {
		return err
	}
	for _, statement := range splitSQL(s.sql.text(m.sql)) {
		if exists && strings.Contains(statement, "CREATE SCHEMA IF NOT EXISTS") {
			continue // it would ask for a right on the whole database
		}
		if _, err := tx.exec(ctx, statement); err != nil {
			return fmt.Errorf("postgres: migration %s: %w", m.name, waited(err, "a table in use", migrateLock))
		}
	}
	_, err := tx.exec(ctx, s.sql.text(`INSERT INTO {schema}.migration (version, checksum, at) VALUES ($1::int4, $2::text, `+clock+`)`),
		int64(m.version), m.checksum)
	return err
}

// patience bounds every wait for a lock in this transaction, and lifts the bound
// on a statement that is meant to be long.
func patience(ctx context.Context, tx runner, lock string) error {
	var told string
	return tx.row(ctx, `SELECT set_config('lock_timeout', $1::text, true) || set_config('statement_timeout', '0', true)`, lock).Scan(&told)
}

// waited says what was waited for.
func waited(err error, what, how string) error {
	if sqlState(err) == "55P03" {
		return fmt.Errorf("%w: waited %s for %s: %w", errBusy, how, what, err)
	}
	return err
}

// splitSQL splits a migration at the semicolons that end lines; migration
// files have no others, nor functions.
func splitSQL(text string) []string {
	var out []string
	for part := range strings.SplitSeq(text, ";\n") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}
