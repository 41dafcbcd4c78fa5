package mysql

import (
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
		kept, known, err := db.lockOperation(ctx, tx, operation)
		if err != nil {
			return nil, err
		}
		if known {
			keyTimes[operation] = upkeep.KeyTime([]byte(kept.contract))
		}
	}
	return keyTimes, nil
}

// horizoned are the rows that can be forgotten: an operation without a row has no
// horizon, and a timed key of it would seem new.
func (b *reaping) horizoned(rows []reapRow, keyTimes map[string]record.KeyTime) []reapRow {
	return slices.DeleteFunc(rows, func(r reapRow) bool {
		if _, known := keyTimes[r.Identity.Operation]; known {
			return false
		}
		_, timed := record.ULID.Birth(r.Identity.Key)
		if timed {
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
