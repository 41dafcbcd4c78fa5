package sqlite

import (
	"context"
	"database/sql"
)

// Setup runs statements of the application's own, such as its schema, in one
// transaction on the writer.
func (db *DB) Setup(ctx context.Context, statements ...string) error {
	return db.writing(ctx, func(ctx context.Context, conn *sql.Conn) error {
		for _, s := range statements {
			if _, err := conn.ExecContext(ctx, s); err != nil {
				return err
			}
		}
		return nil
	})
}

// Update runs work in one transaction on the writer, without a record: for the
// application's writes that no client retries. It waits for the writer like
// Execute, and an error rolls back. With [DB.ExecuteIn] it can hold a record
// beside other work.
func (db *DB) Update(ctx context.Context, work func(ctx context.Context, tx Tx) error) error {
	return db.writing(ctx, func(_ context.Context, conn *sql.Conn) error { return work(ctx, conn) })
}
