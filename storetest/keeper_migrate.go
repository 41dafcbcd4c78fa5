package storetest

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

// status demands how far a database is migrated.
func (k *keeper[T]) status(of upkeep.Keeper, want func(upkeep.Status) bool) upkeep.Status {
	k.t.Helper()
	s, err := of.MigrationStatus(k.ctx)
	if err != nil || s.Newest < 1 || !want(s) {
		k.t.Errorf("MigrationStatus = %+v, %v", s, err)
	}
	return s
}

func current(s upkeep.Status) bool { return s.Version == s.Newest && s.Check() == nil }

// migrateTwice: the second time changes nothing, neither the schema nor what is
// stored.
func migrateTwice[T any](k *keeper[T]) {
	connect := k.Empty(k.t)
	empty := connect()
	for range 2 { // reading the status makes nothing
		k.status(empty, func(s upkeep.Status) bool { return s.Version == 0 && errors.Is(s.Check(), refrain.ErrNotMigrated) })
	}
	if err := empty.Migrate(k.ctx); err != nil {
		k.t.Fatalf("Migrate: %v", err)
	}
	k.status(empty, current)
	if err := empty.Register(k.ctx, k.contract); err != nil {
		k.t.Fatalf("Register: %v", err)
	}
	if err := connect().Migrate(k.ctx); err != nil {
		k.t.Errorf("Migrate again: %v", err)
	}
	k.status(empty, current)
	if contracts, err := empty.Contracts(k.ctx); err != nil || len(contracts) != 1 {
		k.t.Errorf("Contracts = %v, %v after the second migration", contracts, err)
	}

	original := k.fresh(k.call("k", "one"))
	if err := k.Keeper.Migrate(k.ctx); err != nil {
		k.t.Errorf("Migrate of a store in use: %v", err)
	}
	k.replay(k.call("k", "one"), original)
}

// migrateConcurrently: processes that start together all succeed.
func migrateConcurrently[T any](k *keeper[T]) {
	connect := k.Empty(k.t)
	var done sync.WaitGroup
	for range 3 {
		through := connect()
		for range 2 {
			done.Go(func() {
				if err := through.Migrate(k.ctx); err != nil {
					k.t.Errorf("Migrate: %v", err)
				}
			})
		}
	}
	done.Wait()
	k.status(connect(), current)
}

// migrateNewerSchema: a binary that was rolled back leaves the schema alone.
func migrateNewerSchema[T any](k *keeper[T]) {
	original := k.fresh(k.call("k", "one"))
	if err := k.Outdate(k.ctx); err != nil {
		k.t.Fatalf("Outdate: %v", err)
	}
	newer := func(s upkeep.Status) bool {
		return s.Version > s.Newest && errors.Is(s.Check(), refrain.ErrNewerSchema)
	}
	before := k.status(k.Keeper, newer)
	if err := k.Keeper.Migrate(k.ctx); !errors.Is(err, refrain.ErrNewerSchema) {
		k.t.Errorf("Migrate: %v, want ErrNewerSchema", err)
	}
	if after := k.status(k.Keeper, newer); after != before {
		k.t.Errorf("Migrate made %+v of %+v", after, before)
	}
	if rec, err := k.Store.Find(k.ctx, original.Ref); err != nil || rec.State != record.Confirmed {
		k.t.Errorf("afterwards Find = %+v, %v", rec, err)
	}
}

// notMigrated: missing tables are an alarm for every call, never an empty store,
// and nothing makes them by the way.
func notMigrated[T any](k *keeper[T]) {
	empty := k.Empty(k.t)()
	id := identity(k.call("k", "one"))
	ref := record.NewRef(epoch)
	for name, call := range map[string]func(context.Context) error{
		"Load":   func(ctx context.Context) error { _, _, err := empty.Load(ctx, id); return err },
		"Find":   func(ctx context.Context) error { _, err := empty.Find(ctx, ref); return err },
		"List":   func(ctx context.Context) error { _, err := empty.List(ctx, record.Record{}, 1); return err },
		"Reap":   func(ctx context.Context) error { _, err := empty.Reap(ctx, upkeep.Reap{}); return err },
		"Spans":  func(ctx context.Context) error { _, err := empty.Spans(ctx); return err },
		"Walk":   func(ctx context.Context) error { _, err := empty.Walk(ctx, "", 1); return err },
		"Fences": func(ctx context.Context) error { _, err := empty.Fences(ctx); return err },
		"SetFence": func(ctx context.Context) error {
			_, err := empty.SetFence(ctx, upkeep.Fence{Until: epoch, By: "ops", Reason: "restore"})
			return err
		},
		"EndFence":    func(ctx context.Context) error { return empty.EndFence(ctx, 1, "ops", "over") },
		"VoidFence":   func(ctx context.Context) error { return empty.VoidFence(ctx, 1, "ops", "mistake") },
		"Reviews":     func(ctx context.Context) error { _, err := empty.Reviews(ctx, upkeep.ReviewQuery{}); return err },
		"Incarnation": func(ctx context.Context) error { _, err := empty.Incarnation(ctx); return err },
		"Advance":     func(ctx context.Context) error { _, err := empty.Advance(ctx); return err },
		"Onces":       func(ctx context.Context) error { _, err := empty.Onces(ctx, upkeep.OnceQuery{Rule: "r"}); return err },
		"RemoveOnce":  func(ctx context.Context) error { return empty.RemoveOnce(ctx, "r", "v", "ops", "gone") },
		"Register":    func(ctx context.Context) error { return empty.Register(ctx, k.contract) },
		"Contracts":   func(ctx context.Context) error { _, err := empty.Contracts(ctx); return err },
		"Horizon":     func(ctx context.Context) error { _, err := empty.Horizon(ctx, id.Operation); return err },
		"Rekey":       func(ctx context.Context) error { _, err := empty.Rekey(ctx, k.toEurope()); return err },
		"Oldest":      func(ctx context.Context) error { _, _, err := empty.Oldest(ctx, upkeep.Query{}); return err },
		"Standing":    func(ctx context.Context) error { _, _, err := empty.Standing(ctx, ref); return err },
		"Audits":      func(ctx context.Context) error { _, err := empty.Audits(ctx, ref); return err },
	} {
		if err := call(k.ctx); !errors.Is(err, refrain.ErrNotMigrated) {
			k.t.Errorf("%s: %v, want ErrNotMigrated", name, err)
		}
	}
	k.status(empty, func(s upkeep.Status) bool { return s.Version == 0 })
}

// doctorReads: it tells each setting with its reason, says what is wrong with the
// schema, and changes nothing.
func doctorReads[T any](k *keeper[T]) {
	schema := func(of upkeep.Keeper) upkeep.Check {
		checks, err := of.Doctor(k.ctx)
		if err != nil {
			k.t.Fatalf("Doctor: %v", err)
		}
		for _, c := range checks {
			if c.Setting == "" || c.Value == "" || c.Want == "" || c.Why == "" || c.Fix == "" {
				k.t.Errorf("a check tells %+v", c)
			}
		}
		i := slices.IndexFunc(checks, func(c upkeep.Check) bool { return c.Setting == "schema" })
		if i < 0 {
			k.t.Fatal("the doctor does not look at the schema")
		}
		return checks[i]
	}
	if c := schema(k.Keeper); !c.OK {
		k.t.Errorf("of a migrated store: %+v", c)
	}
	empty := k.Empty(k.t)()
	if c := schema(empty); c.OK {
		k.t.Errorf("of an empty database: %+v", c)
	}
	k.status(empty, func(s upkeep.Status) bool { return s.Version == 0 })
	if err := k.Outdate(k.ctx); err != nil {
		k.t.Fatalf("Outdate: %v", err)
	}
	if c := schema(k.Keeper); c.OK {
		k.t.Errorf("of a newer schema: %+v", c)
	}
}
