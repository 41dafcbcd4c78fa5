package postgres

import (
	"context"

	"github.com/refrain-dev/refrain/record"
)

const awaitsText = `SELECT EXISTS (SELECT FROM {schema}.external WHERE action = $1::bytea)`

// awaited refuses a record that would wait for ever: its effect has rolled the
// operation back to a savepoint of its own.
func (s *Store) awaited(ctx context.Context, run runner, rec *record.Record) error {
	if rec.State != record.Accepted {
		return nil
	}
	var there bool
	err := run.row(ctx, s.sql.awaits, packRef(rec.Ref)).Scan(&there)
	if err == nil && !there {
		err = record.Unawaited()
	}
	return err
}
