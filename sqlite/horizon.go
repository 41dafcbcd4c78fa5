package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

// births reads the time inside keys as the stored contract of their operation
// does.
type births struct {
	q     runner
	rules map[string]birthRule // by operation
}

type birthRule struct {
	keyTime record.KeyTime
	known   bool // the store has the operation, and so a place for its horizon
}

func (b births) of(ctx context.Context, id record.Identity) (born time.Time, timed, known bool, err error) {
	rule, asked := b.rules[id.Operation]
	if !asked {
		if rule, err = readBirthRule(ctx, b.q, id.Operation); err != nil {
			return born, false, false, err
		}
		b.rules[id.Operation] = rule
	}
	born, timed = rule.keyTime.Birth(id.Key)
	return born, timed, rule.known, nil
}

func readBirthRule(ctx context.Context, q runner, operation string) (birthRule, error) {
	kept, err := knownOperation(ctx, q, operation)
	known := !errors.Is(err, sql.ErrNoRows)
	if !known {
		err = nil
	}
	return birthRule{upkeep.KeyTime([]byte(kept.contract)), known}, err
}

const raiseSQL = `UPDATE refrain_operation SET horizon = max(coalesce(horizon, ?1), ?1) WHERE operation = ?2`

// raise lifts the horizons over what is about to be forgotten.
func (b births) raise(ctx context.Context, forgotten []upkeep.Row) error {
	latest := make(map[string]time.Time)
	for _, r := range forgotten {
		born, timed, _, err := b.of(ctx, r.Identity)
		if err != nil {
			return err
		}
		if timed && born.After(latest[r.Identity.Operation]) {
			latest[r.Identity.Operation] = born
		}
	}
	for operation, born := range latest {
		if err := one(b.q.exec(ctx, raiseSQL, born.UnixMicro(), operation)); err != nil {
			return err
		}
	}
	return nil
}
