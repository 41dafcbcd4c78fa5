package mysql

import (
	"context"

	"github.com/refrain-dev/refrain/record"
)

// awaited refuses a record that would wait for ever: its effect has rolled the
// operation back to a savepoint of its own.
func awaited(ctx context.Context, q runner, rec *record.Record) error {
	if rec.State != record.Accepted {
		return nil
	}
	var there bool
	err := q.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM refrain_external WHERE action = ?)`, encodeRef(rec.Ref)).Scan(&there)
	if err == nil && !there {
		err = record.Unawaited()
	}
	return err
}
