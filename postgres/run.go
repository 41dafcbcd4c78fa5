package postgres

import "context"

// runner runs the engine's own statements, on pgx or through database/sql.
// Arguments and destinations are of the types both know: string, []byte, int64,
// bool, and pointers to them for NULL. A hash goes in as the text of a uuid and
// is read with uuid_send.
type runner interface {
	// exec returns the number of rows changed.
	exec(ctx context.Context, query string, args ...any) (int64, error)
	// row is the first row; its Scan is sql.ErrNoRows when there is none.
	row(ctx context.Context, query string, args ...any) scanner
	rows(ctx context.Context, query string, args ...any) (rows, error)
}

type scanner interface{ Scan(dest ...any) error }

type rows interface {
	scanner
	Next() bool
	Err() error
	Close()
}
