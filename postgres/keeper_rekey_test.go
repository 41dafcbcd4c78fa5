package postgres

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

// europe adds a region to the identities of orders.create.
var europe = upkeep.Rekey{Operation: "orders.create", Add: [][2]string{{"region", "eu"}}, By: "ops", Reason: "second region"}

// european is keeperCall under the contract and the scope after europe.
func european(key string) refrain.Call {
	c := keeperCall(key)
	c.Contract.Dimensions = []string{"tenant", "region"}
	c.Scope = c.Scope.With("region", "eu")
	return c
}

func renamed(key string) refrain.Call {
	c := keeperCall(key)
	c.Contract.Operation = "orders.place"
	return c
}

// wantKept checks that the call is answered by the record.
func (k *keeper) wantKept(t testing.TB, c refrain.Call, rec *record.Record) {
	t.Helper()
	claim := claimOf(t, c)
	seen, _, err := k.Load(t.Context(), claim.Identity)
	if err != nil || seen.Record == nil || seen.Record.Ref != rec.Ref || seen.IdentityVersion != claim.IdentityVersion {
		t.Errorf("%s is answered by %+v under %q, %v", c.Key, seen.Record, seen.IdentityVersion, err)
	}
}

func TestKeeperRekeyDimensions(t *testing.T) {
	for _, driver := range []string{"pgx", "postgres", "native"} {
		t.Run(driver, func(t *testing.T) {
			k := newKeeper(t, driver)
			rec := k.mustSettle(t, keeperCall("k"))
			done, err := k.Rekey(t.Context(), europe)
			if err != nil {
				t.Fatal(err)
			}
			same(t, "done", done, upkeep.Rekeyed{Operation: "orders.create", Identity: "tenant,region", Records: 1})
			k.wantKept(t, european("k"), rec)
			for _, key := range []string{"k", "new"} {
				_, err := k.settle(claimOf(t, keeperCall(key)), nil)
				wantRow(t, err, "9", refrain.ErrContractChanged)
			}
			if err := k.Register(t.Context(), keeperContract); !errors.Is(err, refrain.ErrContractChanged) {
				t.Errorf("the old contract registers with %v", err)
			}
			if err := k.Register(t.Context(), european("k").Contract); err != nil {
				t.Errorf("the new contract registers with %v", err)
			}
			audits, err := k.Audits(t.Context(), "")
			if err != nil || len(audits) != 1 || audits[0].By != "ops" || audits[0].Reason != "second region" || !strings.Contains(audits[0].Detail, "1 records") {
				t.Errorf("%+v, %v", audits, err)
			}
		})
	}
}

func TestKeeperRekeyOperation(t *testing.T) {
	k := newKeeper(t, "pgx")
	rec := k.mustSettle(t, keeperCall("k"))
	k.setup(t, `UPDATE {schema}.operation SET horizon = 2000000`)
	theirs := k.mustSettle(t, renamed("theirs"))
	k.setup(t, `UPDATE {schema}.operation SET horizon = 1000000 WHERE operation = 'orders.place'`)
	move := upkeep.Rekey{Operation: "orders.create", To: "orders.place", By: "ops", Reason: "renamed"}
	if _, err := k.Rekey(t.Context(), move); err != nil {
		t.Fatal(err)
	}
	k.wantKept(t, renamed("k"), rec)
	k.wantKept(t, renamed("theirs"), theirs)
	if horizon, err := k.Horizon(t.Context(), "orders.place"); err != nil || horizon.UnixMicro() != 2_000_000 {
		t.Errorf("horizon %v, %v", horizon, err)
	}
	_, err := k.settle(claimOf(t, keeperCall("k")), nil)
	wantRow(t, err, "9", refrain.ErrContractChanged)
	contracts, err := k.Contracts(t.Context())
	if err != nil || len(contracts) != 1 || !strings.Contains(contracts["orders.place"], `"operation":"orders.place"`) {
		t.Errorf("contracts %v, %v", contracts, err)
	}
	if _, err := k.Rekey(t.Context(), move); !errors.Is(err, record.ErrNotFound) {
		t.Errorf("moved again: %v", err)
	}
}

func TestKeeperRekeyCollision(t *testing.T) {
	now := noon
	k := newKeeper(t, "pgx", at(&now))
	mine, yours := keeperCall("k"), keeperCall("k")
	mine.Scope, yours.Scope = refrain.Tenant("north").Subject("me"), refrain.Tenant("north").Subject("you")
	a := k.mustSettle(t, mine)
	now = now.Add(time.Second)
	b := k.mustSettle(t, yours)
	_, err := k.Rekey(t.Context(), upkeep.Rekey{Operation: "orders.create", Drop: []string{"subject"}, By: "ops", Reason: "keys of a tenant"})
	var refused *upkeep.RekeyError
	if !errors.As(err, &refused) || !slices.Equal(refused.Collisions, [][2]string{{a.Ref, b.Ref}}) {
		t.Fatalf("error %v, want %s and %s", err, a.Ref, b.Ref)
	}
	k.wantKept(t, mine, a)
	k.wantKept(t, yours, b)

	other := k.mustSettle(t, renamed("same"))
	ours := k.mustSettle(t, keeperCall("same"))
	_, err = k.Rekey(t.Context(), upkeep.Rekey{Operation: "orders.create", To: "orders.place", By: "ops", Reason: "renamed"})
	if !errors.As(err, &refused) || !slices.Equal(refused.Collisions, [][2]string{{other.Ref, ours.Ref}}) {
		t.Errorf("error %v, want %s and %s", err, other.Ref, ours.Ref)
	}
}

// The owner of a live attempt would not find its record again.
func TestKeeperRekeyLive(t *testing.T) {
	now := noon
	k := newKeeper(t, "pgx", at(&now))
	rec := k.open(t, "k")
	_, err := k.Rekey(t.Context(), europe)
	var refused *upkeep.RekeyError
	if !errors.As(err, &refused) || !slices.Equal(refused.Live, []string{rec.Ref}) {
		t.Fatalf("error %v, want %s as live", err, rec.Ref)
	}
	now = now.Add(refrain.DefaultLease) // past at the instant itself
	if _, err := k.Rekey(t.Context(), europe); err != nil {
		t.Fatal(err)
	}
	if moved, err := k.Find(t.Context(), rec.Ref); err != nil || moved.Version != rec.Version+1 {
		t.Errorf("version %d, %v", moved.Version, err)
	}
}

func TestKeeperRekeyRefuses(t *testing.T) {
	k := newKeeper(t, "pgx")
	rec := k.mustSettle(t, keeperCall("k"))
	for name, tt := range map[string]struct {
		r      upkeep.Rekey
		damage string
		want   error
	}{
		"nothing":      {upkeep.Rekey{Operation: "orders.create", By: "ops", Reason: "r"}, "", upkeep.ErrRekey},
		"no reason":    {upkeep.Rekey{Operation: "orders.create", To: "orders.place"}, "", upkeep.ErrRekey},
		"unknown":      {upkeep.Rekey{Operation: "orders.none", To: "orders.place", By: "ops", Reason: "r"}, "", record.ErrNotFound},
		"newer format": {europe, `format = 2`, record.ErrNewerFormat},
		"misplaced":    {europe, `format = 1, key = 'elsewhere'`, record.RecordUnreadable},
	} {
		if tt.damage != "" {
			k.setup(t, `UPDATE {schema}.record SET `+tt.damage)
		}
		if _, err := k.Rekey(t.Context(), tt.r); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v", name, err)
		}
		k.setup(t, `UPDATE {schema}.record SET format = 1, key = 'k'`)
	}
	k.wantKept(t, keeperCall("k"), rec)
}

// What stands beside the identities moves along: reviews add up, fences cover
// what they covered.
func TestKeeperRekeyBeside(t *testing.T) {
	k := newKeeper(t, "native")
	k.mustSettle(t, keeperCall("k"))
	mine, yours := keeperCall("late"), keeperCall("late")
	mine.Scope, yours.Scope = mine.Scope.Subject("me"), mine.Scope.Subject("you")
	for _, c := range []refrain.Call{mine, yours, mine} {
		claim := claimOf(t, c)
		err := k.Change(t.Context(), claim.Identity, func(record.Seen, time.Time) (record.Edit, error) {
			return record.Edit{Review: claim, GrantAllow: "asked"}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	k.setup(t, `INSERT INTO {schema}.fence (operation, scope, until, reason, by, at, ended) VALUES
		('orders.create', 'tenant=north', 1000000, '', '', 0, 0), ('', 'tenant=north', 2000000, '', '', 0, NULL), ('', '', 3000000, '', '', 0, 0),
		('orders.none', 'tenant=north', 9000000, '', '', 0, 0)`)
	done, err := k.Rekey(t.Context(), upkeep.Rekey{Operation: "orders.create", Drop: []string{"subject"}, Add: [][2]string{{"region", "eu"}}, By: "ops", Reason: "r"})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "done", done, upkeep.Rekeyed{Operation: "orders.create", Identity: "tenant,region", Records: 1, Reviews: 2, Allows: 2, Fences: 2})
	same(t, "reviews", k.number(t, `SELECT count(*) * 100 + sum(count) FROM {schema}.review WHERE scope = 'tenant=north&region=eu'`), int64(103))
	seen, _, err := k.Load(t.Context(), claimOf(t, european("late")).Identity)
	if err != nil || !seen.Allowed || !seen.FenceOpen || seen.FenceUntil.UnixMicro() != 3_000_000 {
		t.Errorf("%+v, %v", seen, err)
	}
	same(t, "fences", k.number(t, `SELECT count(*) FROM {schema}.fence WHERE scope = 'tenant=north&region=eu'`), int64(2))
}
