package memstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

// Fences implements [upkeep.Retention].
func (db *DB) Fences(ctx context.Context) ([]upkeep.Fence, error) {
	db.mu.RLock()
	defer db.mu.RUnlock()
	if err := db.readable(ctx); err != nil {
		return nil, err
	}
	return db.fencesOf(false), nil
}

func (db *DB) fencesOf(mine bool) (all []upkeep.Fence) {
	for _, f := range db.fences.all(mine) {
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b upkeep.Fence) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// SetFence implements [upkeep.Retention].
func (db *DB) SetFence(ctx context.Context, f upkeep.Fence) (int64, error) {
	err := db.within(ctx, func(t *transaction) error {
		now := db.options.Now()
		if err := f.Check(now); err != nil {
			return err
		}
		db.fenceID++
		f.ID, f.At, f.Ended, f.Early = db.fenceID, record.Micro(now), time.Time{}, 0
		f.Until, f.Since = record.Micro(f.Until), record.Micro(f.Since)
		db.fences.put(t, f.ID, f)
		for id := range db.allows.all(true) { // of a backup, they may have been spent in what was lost
			if f.Covers(id) {
				db.allows.remove(t, id)
			}
		}
		t.audit(Audit{At: now, By: f.By, Action: "fence", Reason: f.Reason, Detail: fenceDetail(f)})
		return nil
	})
	return f.ID, err
}

// EndFence implements [upkeep.Retention].
func (db *DB) EndFence(ctx context.Context, id int64, by, reason string) error {
	if err := upkeep.Signed(by, reason); err != nil {
		return err
	}
	return db.changeFence(ctx, id, Audit{By: by, Action: "fence-end", Reason: reason}, func(t *transaction, f upkeep.Fence, now time.Time) bool {
		stands := f.Ended.IsZero()
		f.Ended = record.Micro(now)
		db.fences.put(t, id, f)
		return stands
	})
}

// VoidFence implements [upkeep.Retention].
func (db *DB) VoidFence(ctx context.Context, id int64, by, reason string) error {
	if err := upkeep.Signed(by, reason); err != nil {
		return err
	}
	return db.changeFence(ctx, id, Audit{By: by, Action: "fence-void", Reason: reason}, func(t *transaction, _ upkeep.Fence, _ time.Time) bool {
		db.fences.remove(t, id)
		return true
	})
}

func (db *DB) changeFence(ctx context.Context, id int64, line Audit, change func(*transaction, upkeep.Fence, time.Time) bool) error {
	return db.within(ctx, func(t *transaction) error {
		line.At = db.options.Now()
		f, ok := db.fences.get(id, true)
		if !ok || !change(t, f, line.At) {
			return record.ErrNotFound
		}
		line.Detail = fenceDetail(f)
		t.audit(line)
		return nil
	})
}

func fenceDetail(f upkeep.Fence) string {
	return fmt.Sprintf("%s in %s until %s", cmp.Or(f.Operation, "every operation"), cmp.Or(f.Scope, "every scope"),
		f.Until.UTC().Format(time.RFC3339Nano))
}
