package sqlite

import (
	"cmp"
	"context"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

// Setup runs statements of the application's own, such as its schema, in one
// transaction on the writer.
func (db *DB) Setup(ctx context.Context, sql ...string) error {
	return db.writing(ctx, func(ctx context.Context, s *session) error {
		for _, statement := range sql {
			if _, err := s.conn.ExecContext(ctx, statement); err != nil {
				return err
			}
		}
		return nil
	})
}

// Update runs work in one transaction on the writer, without a record: for the
// application's writes that no client retries. It waits for the writer like
// Execute, and an error rolls back. With [DB.ExecuteIn] it can hold a record
// beside other work. Inside an effect it is [refrain.ErrNested]; a wrapped
// handler, whose claim is committed, may use it.
func (db *DB) Update(ctx context.Context, work func(ctx context.Context, tx Tx) error) error {
	if record.Nested(ctx) {
		return refrain.ErrNested
	}
	return db.writing(ctx, func(_ context.Context, s *session) error {
		base, cancel := context.WithCancel(ctx)
		defer cancel()
		t := &turn{base: base, trusted: true}
		err := s.lend(t, func(tx Tx) error { return work(base, tx) })
		return cmp.Or(t.poisoned(), err)
	})
}
