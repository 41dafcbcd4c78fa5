package memstore_test

import (
	"context"
	"testing"

	"github.com/refrain-dev/refrain/memstore"
	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/storetest"
	"github.com/refrain-dev/refrain/upkeep"
)

func TestContract(t *testing.T) {
	storetest.Run(t, harness, storetest.Features{NoReopen: true})
}

func harness(t *testing.T, env storetest.Env) *storetest.Harness[memstore.Tx] {
	db := memstore.New(memstore.Options{Now: env.Now, Commit: env.Commit, Forgetting: env.Forgetting})
	t.Cleanup(func() { _ = db.Close() })
	return &storetest.Harness[memstore.Tx]{
		Exec:     db,
		Store:    db,
		Register: db.Register,
		Close:    db.Close,
		Write: func(_ context.Context, tx memstore.Tx, id string) error {
			return tx.Put("effects", id, nil)
		},
		Effects: func(context.Context) ([]string, error) {
			var ids []string
			for id := range db.Scan("effects") {
				ids = append(ids, id)
			}
			return ids, nil
		},
		Begin: func(ctx context.Context) (memstore.Tx, func(bool) error, error) {
			tx, err := db.Begin(ctx)
			return tx, func(commit bool) error {
				if commit {
					return tx.Commit()
				}
				return tx.Rollback()
			}, err
		},
		ExecuteIn: db.ExecuteIn,
		Fence: func(ctx context.Context, f storetest.Fence) error {
			id, err := db.SetFence(ctx, upkeep.Fence{Operation: f.Operation, Scope: f.Scope, Until: f.Until, By: "test", Reason: "test"})
			if err == nil && f.Ended {
				err = db.EndFence(ctx, id, "test", "test")
			}
			return err
		},
		Allow: db.Allow,
		Reviews: func(ctx context.Context) (map[record.Identity]int, error) {
			counts := map[record.Identity]int{}
			reviews, err := db.Reviews(ctx, upkeep.ReviewQuery{Limit: 1000})
			for _, r := range reviews {
				counts[r.Identity] = r.Count
			}
			return counts, err
		},
		Once: db.Once,
		Audits: func(context.Context) ([]storetest.Audit, error) {
			var lines []storetest.Audit
			for _, a := range db.Audits() {
				lines = append(lines, storetest.Audit(a))
			}
			return lines, nil
		},
		Damage: func(ctx context.Context, id record.Identity, how storetest.Damage) error {
			return db.Tamper(ctx, id, func(rec *record.Record) {
				switch how {
				case storetest.Garbled:
					rec.State = 99
				case storetest.Foreign:
					rec.Identity.Key += "x"
				case storetest.Newer:
					rec.Format = record.Format + 1
				}
			})
		},
		FailStatement: func(_ context.Context, tx memstore.Tx) error { return tx.Put("", "k", nil) },
	}
}
