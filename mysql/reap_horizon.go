package mysql

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

// lockOperations keeps rekeys and registrations away until the COMMIT and
// returns how the keys of each operation that the store knows are read.
func (db *DB) lockOperations(ctx context.Context, tx runner, rows []reapRow) (map[string]record.KeyTime, error) {
	operations := make(map[string]bool)
	for _, r := range rows {
		operations[r.Identity.Operation] = true
	}
	keyTimes := make(map[string]record.KeyTime)
	for _, operation := range slices.Sorted(maps.Keys(operations)) { // in one order, as everybody
		var kept operationRow
		var known bool
		err := impatiently(ctx, tx, func() (err error) {
			kept, known, err = db.lockOperation(ctx, tx, operation)
			return err
		})
		if err != nil {
			return nil, err
		}
		if known {
			keyTimes[operation] = upkeep.KeyTime([]byte(kept.contract))
		}
	}
	return keyTimes, nil
}

// impatiently lets the session wait for locks as short as it can. Whoever waits
// for an operation's row has everybody wait behind it who records an action, and a
// caller of ExecuteIn holds that row as long as it likes. The server goes on waiting
// when we have stopped listening, so a bound of ours alone ends nothing.
func impatiently(ctx context.Context, tx runner, work func() error) error {
	if _, err := tx.ExecContext(ctx, `SET @refrain_patience = @@SESSION.innodb_lock_wait_timeout, SESSION innodb_lock_wait_timeout = 1`); err != nil {
		return err
	}
	err := work()
	_, restored := tx.ExecContext(context.WithoutCancel(ctx), `SET SESSION innodb_lock_wait_timeout = @refrain_patience`)
	return cmp.Or(err, restored)
}

// horizoned are the rows that can be forgotten: an operation without a row has no
// horizon, and a timed key of it would seem new. One whose time has not come would
// raise it over every key that is made until then.
func (b *reaping) horizoned(rows []reapRow, keyTimes map[string]record.KeyTime) []reapRow {
	return slices.DeleteFunc(rows, func(r reapRow) bool {
		keyTime, known := keyTimes[r.Identity.Operation]
		if !known {
			keyTime = record.ULID
		}
		born, timed := keyTime.Birth(r.Identity.Key)
		if timed = timed && (!known || born.After(b.now)); timed {
			b.done.Unfinished++
			b.stays(upkeep.Idle(b.now))
		}
		return timed
	})
}

// raise lifts the horizon of each operation to the latest birth among the rows that
// are about to be forgotten, read as the operation's contract reads it.
func raise(ctx context.Context, tx runner, rows []reapRow, keyTimes map[string]record.KeyTime) error {
	latest := make(map[string]time.Time)
	for _, r := range rows {
		operation := r.Identity.Operation
		born, timed := keyTimes[operation].Birth(r.Identity.Key)
		if timed && born.After(latest[operation]) {
			latest[operation] = born
		}
	}
	for operation, born := range latest {
		if err := raiseTo(ctx, tx, operation, born); err != nil {
			return err
		}
	}
	return nil
}

func raiseTo(ctx context.Context, tx runner, operation string, horizon time.Time) error {
	_, err := tx.ExecContext(ctx, `UPDATE refrain_operation SET horizon = greatest(coalesce(horizon, ?), ?) WHERE operation = ?`,
		horizon.UnixMicro(), horizon.UnixMicro(), []byte(operation))
	return err
}
