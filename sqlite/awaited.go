package sqlite

import (
	"context"

	"github.com/refrain-dev/refrain/record"
)

// awaited refuses a record that would wait for ever: its effect has rolled the
// operation back to a savepoint of its own, which a handle of the application's
// lets it do.
func awaited(ctx context.Context, run runner, rec *record.Record) error {
	if rec.State != record.Accepted {
		return nil
	}
	there := false
	err := run.row(ctx, `SELECT EXISTS (SELECT 1 FROM refrain_external WHERE action = ?)`, func(r row) error {
		there = r.integer(0) != 0
		return nil
	}, rec.Ref)
	if err == nil && !there {
		err = record.Unawaited()
	}
	return err
}
