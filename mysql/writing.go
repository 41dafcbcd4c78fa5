package mysql

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

const (
	maxAttempts  = 10
	retryFirst   = time.Millisecond
	retryLongest = 50 * time.Millisecond
)

// writing runs the engine's own work in a READ COMMITTED transaction, again if
// it loses to another one. It ends with ctx, but for its COMMIT, and waits for
// rows others hold no longer than Busy.
func (db *DB) writing(ctx context.Context, work func(ctx context.Context, tx runner) error) error {
	for attempt := 0; ; attempt++ {
		err := db.write(ctx, work)
		if !retryable(err) || attempt == maxAttempts-1 || !sleep(ctx, record.Backoff(retryFirst, retryLongest, attempt)) {
			return migrated(err)
		}
	}
}

func (db *DB) write(ctx context.Context, work func(ctx context.Context, tx runner) error) error {
	if db.late.full() {
		return errLate
	}
	conn, err := db.connect(ctx, db.opts.Busy)
	if err != nil {
		return err
	}
	tx, err := db.transact(ctx, conn, beginSQL)
	committing := false
	defer func() {
		if !committing {
			tx.rollback()
			_ = conn.Close()
		}
	}()
	if err != nil {
		return err
	}
	if err := work(ctx, tx.q); err != nil {
		return err
	}
	committing = true
	err = db.late.commit(refrain.DefaultCommitWait, tx.commit, func(err error) {
		if err != nil {
			tx.rollback()
		}
		_ = conn.Close()
	})
	if err != nil && !retryable(err) {
		err = unsure(err)
	}
	return err
}

// sleep waits for d; false when ctx ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// connect takes a connection from the pool. Out of patience is errBusy, with
// nothing executed.
func (db *DB) connect(ctx context.Context, patience time.Duration) (*sql.Conn, error) {
	if db.closed.Load() {
		return nil, errClosed
	}
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	conn, err := db.pool.Conn(waiting)
	if err != nil && ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		err = errors.Join(errBusy, err)
	}
	return conn, err
}
