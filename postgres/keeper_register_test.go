package postgres

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

// A shorter memory needs somebody who agrees; other dimensions are refused.
func TestKeeperRegister(t *testing.T) {
	for _, driver := range []string{"pgx", "postgres", "native"} {
		t.Run(driver, func(t *testing.T) {
			k := newKeeper(t, driver)
			if err := k.Register(t.Context(), keeperContract); err != nil {
				t.Fatal(err)
			}
			shorter, fresh := keeperContract, keeperContract
			shorter.RememberFor -= time.Second
			fresh.Operation = "orders.fresh"
			if err := k.Register(t.Context(), fresh, shorter); !errors.Is(err, refrain.ErrShorterMemory) {
				t.Errorf("a shorter memory registers with %v", err)
			}
			if contracts, err := k.Contracts(t.Context()); err != nil || len(contracts) != 1 || !strings.Contains(contracts["orders.create"], `"remember_for":"PT2H"`) {
				t.Errorf("a refused Register stored %v, %v", contracts, err)
			}
			if err := k.RegisterShorter(t.Context(), shorter); err != nil {
				t.Fatal(err)
			}
			if err := k.Register(t.Context(), shorter); err != nil {
				t.Errorf("after somebody agreed: %v", err)
			}
			changed := shorter
			changed.Dimensions = []string{"tenant"}
			if err := k.RegisterShorter(t.Context(), changed); !errors.Is(err, refrain.ErrContractChanged) {
				t.Errorf("other dimensions register with %v", err)
			}
			seen, _, err := k.Load(t.Context(), record.Identity{Scope: "tenant=north", Operation: "orders.create", Key: "k"})
			if err != nil || seen.IdentityVersion != keeperContract.IdentityVersion() {
				t.Errorf("identity version %q, %v", seen.IdentityVersion, err)
			}
			if horizon, err := k.Horizon(t.Context(), "orders.none"); err != nil || !horizon.IsZero() {
				t.Errorf("horizon of none: %v, %v", horizon, err)
			}
		})
	}
}

// Of processes that start at once with other dimensions exactly one decides.
func TestKeeperRegisterAtOnce(t *testing.T) {
	k := newKeeper(t, "pgx")
	other := keeperContract
	other.Dimensions = []string{"tenant", "region"}
	errs := make([]error, 6)
	var wg sync.WaitGroup
	for i := range errs {
		store := k.sibling(t)
		wg.Go(func() {
			errs[i] = store.Register(t.Context(), []refrain.Contract{keeperContract, other}[i%2])
		})
	}
	wg.Wait()
	for i, err := range errs {
		if (err == nil) != (errs[i%2] == nil) || err != nil && !errors.Is(err, refrain.ErrContractChanged) {
			t.Errorf("%d: %v", i, err)
		}
	}
	if (errs[0] == nil) == (errs[1] == nil) {
		t.Errorf("%v and %v", errs[0], errs[1])
	}
}

func TestKeeperOldest(t *testing.T) {
	now := noon
	k := newKeeper(t, "postgres", at(&now))
	refs := map[string]string{"unknown": k.open(t, "lost").Ref}
	now = now.Add(refrain.DefaultLease)
	refs["submitted"] = k.open(t, "live").Ref
	now = now.Add(time.Second)
	refs["confirmed"] = k.mustSettle(t, keeperCall("done")).Ref
	now = now.Add(time.Second)
	refs["disputed"] = k.mustSettle(t, keeperCall("disputed")).Ref
	k.setup(t, `UPDATE {schema}.record SET disputed = true WHERE ref = $1`, packRef(refs["disputed"]))
	refs["rejected"] = k.mustSettle(t, keeperCall("rejected")).Ref
	k.setup(t, `UPDATE {schema}.record SET state = $2 WHERE ref = $1`, packRef(refs["rejected"]), int64(record.Rejected))
	for name, tt := range map[string]struct {
		query upkeep.Query
		want  []string
	}{
		"what waits":    {upkeep.Query{}, []string{"unknown", "submitted", "disputed"}},
		"unknown":       {upkeep.Query{State: "unknown"}, []string{"unknown"}},
		"submitted":     {upkeep.Query{State: "submitted"}, []string{"submitted"}},
		"disputed":      {upkeep.Query{State: "disputed"}, []string{"disputed"}},
		"confirmed":     {upkeep.Query{State: "confirmed"}, []string{"confirmed"}},
		"rejected":      {upkeep.Query{State: "rejected"}, []string{"rejected"}},
		"limited":       {upkeep.Query{Limit: 1}, []string{"unknown"}},
		"an operation":  {upkeep.Query{Operation: "orders.create", Limit: 5000}, []string{"unknown", "submitted", "disputed"}},
		"another one":   {upkeep.Query{Operation: "orders.place"}, nil},
		"none accepted": {upkeep.Query{State: "accepted"}, nil},
	} {
		recs, at, err := k.Oldest(t.Context(), tt.query)
		if err != nil || !at.Equal(now) {
			t.Fatalf("%s: %v at %v", name, err, at)
		}
		var got, want []string
		for _, rec := range recs {
			got = append(got, rec.Ref)
			if rec.Ref == refs["unknown"] && rec.State != record.Unknown {
				t.Errorf("%s: past its lease and %s", name, rec.State)
			}
		}
		for _, state := range tt.want {
			want = append(want, refs[state])
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	if _, _, err := k.Oldest(t.Context(), upkeep.Query{State: "pending"}); err == nil {
		t.Error("an unknown state was accepted")
	}
	rec, _, err := k.Standing(t.Context(), refs["unknown"])
	if err != nil || rec.State != record.Unknown {
		t.Errorf("standing %s, %v", rec.State, err)
	}
	for _, ref := range []string{"", "op_none", "op_\x00", record.NewRef(now)} {
		if _, _, err := k.Standing(t.Context(), ref); !errors.Is(err, record.ErrNotFound) {
			t.Errorf("standing of none: %v", err)
		}
	}
}
