package sqlite

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
	checksum string
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

// Schema is the SQL that Migrate runs on an empty database, to read or to run
// by hand.
func Schema() string {
	var b strings.Builder
	for _, m := range migrations() {
		fmt.Fprintf(&b, "-- %s\n%s\nINSERT INTO refrain_schema (version, checksum, at) VALUES (%d, '%s', unixepoch() * 1000000);\n\n",
			m.name, m.sql, m.version, m.checksum)
	}
	return b.String()
}

// Status is how far a database is migrated.
type Status = upkeep.Status

// MigrationStatus reads how far the database is migrated; it changes nothing.
func (db *DB) MigrationStatus(ctx context.Context) (Status, error) {
	return migrationStatus(ctx, db.lookups)
}

func migrationStatus(ctx context.Context, q runner) (Status, error) {
	s := Status{Newest: len(migrations())}
	exists := false
	err := q.row(ctx, `SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'refrain_schema')`, func(r row) error {
		exists = r.integer(0) != 0
		return nil
	})
	if err == nil && exists {
		err = q.row(ctx, `SELECT coalesce(max(version), 0) FROM refrain_schema`, func(r row) error {
			s.Version = int(r.integer(0))
			return nil
		})
	}
	return s, err
}

// Migrate brings the database to this binary's schema, in one transaction: all of
// it or nothing. Concurrent calls are safe; a newer schema is ErrNewerSchema and
// stays untouched. A starting application does not call it on its own: a
// missing table is an alarm, not a fresh start.
func (db *DB) Migrate(ctx context.Context) error {
	return db.writing(ctx, func(ctx context.Context, s *session) error {
		status, err := migrationStatus(ctx, s.run)
		if err != nil {
			return err
		}
		if err := status.Check(); !errors.Is(err, refrain.ErrNotMigrated) {
			return err
		}
		for _, m := range migrations()[status.Version:] {
			if err := db.migrate(ctx, s.run, m); err != nil {
				return fmt.Errorf("sqlite: migration %s: %w", m.name, err)
			}
		}
		return nil
	})
}

func (db *DB) migrate(ctx context.Context, q runner, m migration) error {
	for _, statement := range splitSQL(m.sql) {
		if _, err := q.exec(ctx, statement); err != nil {
			return err
		}
	}
	_, err := q.exec(ctx, `INSERT INTO refrain_schema (version, checksum, at) VALUES (?, ?, ?)`,
		m.version, m.checksum, db.opts.Now().UnixMicro())
	return err
}

// splitSQL splits a migration at the semicolons that end lines; migration
// files have no others, nor triggers.
func splitSQL(text string) []string {
	var out []string
	for part := range strings.SplitSeq(text, ";\n") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}
