package memstore

import (
	"context"
	"slices"
	"strings"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

type onceKey struct{ rule, value string }

// Once holds value for rule, for ever, in the transaction of tx. It is
// [refrain.ErrTaken] where the rule holds it already, and [upkeep.ErrOnce] for a
// rule or a value it cannot keep. It is no receipt: it ends never and answers
// nothing.
func (db *DB) Once(ctx context.Context, tx Tx, rule, value string) error {
	if err := upkeep.CheckOnce(rule, value); err != nil {
		return err
	}
	running, _ := refrain.CallFrom(ctx)
	taken := false
	err := tx.statement("once", func(t *transaction) {
		if _, taken = db.onces.get(onceKey{rule, value}, true); taken {
			return
		}
		t.writes++
		db.onces.put(t, onceKey{rule, value}, upkeep.Once{Rule: rule, Value: value, Ref: running.Ref, At: record.Micro(db.options.Now())})
	})
	if err == nil && taken {
		err = refrain.ErrTaken
	}
	return err
}

// Onces implements [upkeep.Retention].
func (db *DB) Onces(ctx context.Context, q upkeep.OnceQuery) ([]upkeep.Once, error) {
	db.mu.RLock()
	defer db.mu.RUnlock()
	if err := db.readable(ctx); err != nil {
		return nil, err
	}
	var found []upkeep.Once
	for k, o := range db.onces.all(false) {
		if k.rule == q.Rule && k.value > q.After {
			found = append(found, o)
		}
	}
	slices.SortFunc(found, func(a, b upkeep.Once) int { return strings.Compare(a.Value, b.Value) })
	return found[:min(len(found), q.Bounded())], nil
}

// RemoveOnce implements [upkeep.Retention].
func (db *DB) RemoveOnce(ctx context.Context, rule, value, by, reason string) error {
	if err := upkeep.Signed(by, reason); err != nil {
		return err
	}
	return db.within(ctx, func(t *transaction) error {
		if _, ok := db.onces.get(onceKey{rule, value}, true); !ok {
			return record.ErrNotFound
		}
		db.onces.remove(t, onceKey{rule, value})
		t.audit(Audit{At: db.options.Now(), By: by, Action: "once-remove", Reason: reason, Detail: rule})
		return nil
	})
}
