package sqlite

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

// toEurope adds a region to the identities of orders.create.
var toEurope = Rekey{Operation: "orders.create", Add: [][2]string{{"region", "eu"}}, By: "ops", Reason: "second region"}

// european is call under the contract and the scope after toEurope.
func european(key string) refrain.Call {
	c := call(key)
	c.Contract.Dimensions = []string{"tenant", "region"}
	c.Scope = c.Scope.With("region", "eu")
	return c
}

func mustRun(t testing.TB, db *DB, c refrain.Call, fn effect) refrain.Outcome {
	t.Helper()
	out, err := db.Execute(t.Context(), c, fn)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestRekeyDimensions(t *testing.T) {
	db := openShop(t)
	first := mustRun(t, db, call("k"), put("k"))
	done, err := db.Rekey(t.Context(), toEurope)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "done", done, Rekeyed{Operation: "orders.create", Identity: "tenant,region", Records: 1})

	again := mustRun(t, db, european("k"), put("twice"))
	if !again.Replayed || again.Ref != first.Ref || !again.RememberUntil.Equal(first.RememberUntil) {
		t.Errorf("replay %+v of %+v", again, first)
	}
	runs := 0
	wantRow(t, run(db, call("k"), counted(&runs, put("twice"))), "9", refrain.ErrContractChanged)
	wantRow(t, run(db, call("new"), counted(&runs, put("new"))), "9", refrain.ErrContractChanged)
	equal(t, "runs of the old contract", runs, 0)
	wantItems(t, db, "k")

	err = db.Register(t.Context(), contract)
	if !errors.Is(err, refrain.ErrContractChanged) || !strings.Contains(err.Error(), "refrain contract rekey") {
		t.Errorf("the old contract registers with %v", err)
	}
	if err := db.Register(t.Context(), european("k").Contract); err != nil {
		t.Errorf("the new contract registers with %v", err)
	}
}

func TestRekeyOperation(t *testing.T) {
	db := openShop(t)
	first := mustRun(t, db, call("k"), put("k"))
	move := Rekey{Operation: "orders.create", To: "orders.place", By: "ops", Reason: "renamed"}
	if _, err := db.Rekey(t.Context(), move); err != nil {
		t.Fatal(err)
	}
	again := mustRun(t, db, named("orders.place", "k"), put("twice"))
	if !again.Replayed || again.Ref != first.Ref {
		t.Errorf("replay %+v of %+v", again, first)
	}
	wantRow(t, run(db, call("k"), put("twice")), "9", refrain.ErrContractChanged)
	wantItems(t, db, "k")

	contracts, err := db.Contracts(t.Context())
	if err != nil || len(contracts) != 1 || !strings.Contains(contracts["orders.place"], `"operation":"orders.place"`) {
		t.Errorf("contracts %v, %v", contracts, err)
	}
	if _, err := db.Rekey(t.Context(), move); !errors.Is(err, record.ErrNotFound) {
		t.Errorf("moved again: %v", err)
	}
	back := Rekey{Operation: "orders.place", To: "orders.create", By: "ops", Reason: "a mistake"}
	if _, err := db.Rekey(t.Context(), back); err != nil {
		t.Fatal(err)
	}
	if again := mustRun(t, db, call("k"), put("twice")); again.Ref != first.Ref {
		t.Errorf("after moving back: %+v", again)
	}
}

// The new operation may have begun: its records stay, the later horizon holds.
func TestRekeyIntoKnownOperation(t *testing.T) {
	db := openShop(t)
	mustRun(t, db, call("old"), put("old"))
	mustRun(t, db, named("orders.place", "new"), put("new"))
	early, late := int64(1_000_000), int64(2_000_000)
	set := func(operation string, horizon int64) {
		err := db.Setup(t.Context(), fmt.Sprintf(`UPDATE refrain_operation SET horizon = %d WHERE operation = '%s'`, horizon, operation))
		if err != nil {
			t.Fatal(err)
		}
	}
	set("orders.create", late)
	set("orders.place", early)
	move := Rekey{Operation: "orders.create", To: "orders.place", By: "ops", Reason: "renamed"}
	if _, err := db.Rekey(t.Context(), move); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"old", "new"} {
		if again := mustRun(t, db, named("orders.place", key), put("twice")); !again.Replayed {
			t.Errorf("%s ran again", key)
		}
	}
	if horizon, err := db.Horizon(t.Context(), "orders.place"); err != nil || horizon.UnixMicro() != late {
		t.Errorf("horizon %v, %v", horizon, err)
	}
	mustRun(t, db, regional("orders.regional", "k"), put("regional"))
	move = Rekey{Operation: "orders.place", To: "orders.regional", By: "ops", Reason: "merged"}
	if _, err := db.Rekey(t.Context(), move); err == nil || !strings.Contains(err.Error(), `by "tenant,region"`) {
		t.Errorf("into another identity: %v", err)
	}
}

func TestRekeyCollision(t *testing.T) {
	db := openShop(t)
	mine, yours := call("k"), call("k")
	mine.Scope, yours.Scope = refrain.Tenant("north").Subject("me"), refrain.Tenant("north").Subject("you")
	a, b := mustRun(t, db, mine, put("mine")), mustRun(t, db, yours, put("yours"))
	_, err := db.Rekey(t.Context(), Rekey{Operation: "orders.create", Drop: []string{"subject"}, By: "ops", Reason: "keys of a tenant"})
	var refused *RekeyError
	if !errors.As(err, &refused) || !slices.Equal(refused.Collisions, [][2]string{{a.Ref, b.Ref}}) {
		t.Fatalf("error %v, want %s and %s", err, a.Ref, b.Ref)
	}
	for _, c := range []refrain.Call{mine, yours} {
		if again := mustRun(t, db, c, put("twice")); !again.Replayed {
			t.Error("a refused rekey changed something")
		}
	}

	other := mustRun(t, db, named("orders.place", "same"), put("other"))
	ours := mustRun(t, db, call("same"), put("ours"))
	_, err = db.Rekey(t.Context(), Rekey{Operation: "orders.create", To: "orders.place", By: "ops", Reason: "renamed"})
	if !errors.As(err, &refused) || !slices.Equal(refused.Collisions, [][2]string{{other.Ref, ours.Ref}}) {
		t.Errorf("error %v, want %s and %s", err, other.Ref, ours.Ref)
	}
}

// The owner of a live attempt would not find its record again.
func TestRekeyLiveAttempt(t *testing.T) {
	now := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	db := openShop(t, Options{Now: func() time.Time { return now }})
	rec := openAttempt(t, db, "k")
	_, err := db.Rekey(t.Context(), toEurope)
	var refused *RekeyError
	if !errors.As(err, &refused) || !slices.Equal(refused.Live, []string{rec.Ref}) {
		t.Fatalf("error %v, want %s as live", err, rec.Ref)
	}
	now = now.Add(refrain.DefaultLease) // past at the instant itself
	if _, err := db.Rekey(t.Context(), toEurope); err != nil {
		t.Fatal(err)
	}
	wantRow(t, run(db, european("k"), put("twice")), "7", refrain.ErrOutcomeUnknown)
	wantItems(t, db)
}

// openAttempt commits the claim of a handler that commits for itself.
func openAttempt(t testing.TB, db *DB, key string) (rec *record.Record) {
	t.Helper()
	claim, err := call(key).Claim()
	if err != nil {
		t.Fatal(err)
	}
	err = db.Change(t.Context(), claim.Identity, func(seen record.Seen, now time.Time) (record.Edit, error) {
		edit, opened, fresh, err := claim.Open(seen, now)
		if err == nil && !fresh {
			err = errors.New("not fresh")
		}
		rec = opened
		return edit, err
	})
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

func TestRekeyRefuses(t *testing.T) {
	db := openShop(t)
	mixed := call("subject")
	mixed.Scope = mixed.Scope.Subject("me")
	mustRun(t, db, call("k"), put("k"))
	mustRun(t, db, mixed, put("subject"))
	for name, r := range map[string]Rekey{
		"nothing":             {Operation: "orders.create"},
		"an unknown one":      {Operation: "orders.none", To: "orders.place"},
		"mixed scopes":        {Operation: "orders.create", Add: [][2]string{{"region", "eu"}}},
		"no tenant":           {Operation: "orders.create", Drop: []string{"tenant", "subject"}, Add: [][2]string{{"region", "eu"}}},
		"a dimension twice":   {Operation: "orders.create", Add: [][2]string{{"tenant", "south"}}},
		"an empty value":      {Operation: "orders.create", Drop: []string{"subject"}, Add: [][2]string{{"region", ""}}},
		"a name with a comma": {Operation: "orders.create", Drop: []string{"subject"}, Add: [][2]string{{"a,b", "eu"}}},
		"a bad operation":     {Operation: "orders.create", To: "orders create"},
		"an identity unlike":  {Operation: "orders.create", Identity: "tenant"},
	} {
		r.By, r.Reason = "ops", "a test"
		want := ErrRekey
		if name == "an unknown one" {
			want = record.ErrNotFound
		}
		if _, err := db.Rekey(t.Context(), r); !errors.Is(err, want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := db.Rekey(t.Context(), Rekey{Operation: "orders.create", To: "orders.place"}); err == nil {
		t.Error("a rekey without a name and a reason was accepted")
	}
	if again := mustRun(t, db, mixed, put("twice")); !again.Replayed {
		t.Error("a refused rekey changed something")
	}
}

// A COMMIT that fails leaves every identity as it was.
func TestRekeyIsWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shop.db")
	db := openAt(t, path)
	for i := range 50 {
		mustRun(t, db, call(fmt.Sprint(i)), put("once"))
	}
	between(t, db, func(statement string, run func() error) error {
		if statement == "COMMIT" {
			return errors.New("the disk is gone")
		}
		return run()
	})
	if _, err := db.Rekey(t.Context(), toEurope); err == nil {
		t.Fatal("a rekey without its COMMIT succeeded")
	}
	between(t, db, nil)
	other := openAt(t, path)
	for i := range 50 {
		if again := mustRun(t, other, call(fmt.Sprint(i)), put("twice")); !again.Replayed {
			t.Errorf("%d ran again", i)
		}
	}
	wantRow(t, run(other, european("0"), put("twice")), "9", refrain.ErrContractChanged)
}

// What stands beside the records moves along, and the audit tells of it.
func TestRekeyMovesAlong(t *testing.T) {
	db := openShop(t)
	mustRun(t, db, call("k"), put("k"))
	id := func(c refrain.Call) record.Identity {
		claim, err := c.Claim()
		if err != nil {
			t.Fatal(err)
		}
		return claim.Identity
	}
	allowed, reviewed := id(call("allowed")), id(call("reviewed"))
	ah, rh := allowed.Hash(), reviewed.Hash()
	err := db.Setup(t.Context(),
		`UPDATE refrain_operation SET horizon = 7000000`,
		fmt.Sprintf(`INSERT INTO refrain_allow VALUES (x'%x', '%s', 'orders.create', CAST('allowed' AS BLOB), 'r', 'b', 0)`, ah, allowed.Scope),
		fmt.Sprintf(`INSERT INTO refrain_review VALUES (x'%x', '%s', 'orders.create', CAST('reviewed' AS BLOB), x'', x'', '', '', 1, 2, 3)`, rh, reviewed.Scope),
		`INSERT INTO refrain_fence (operation, scope, until, reason, by, at) VALUES ('orders.create', '', 1, 'r', 'b', 0)`,
		`INSERT INTO refrain_fence (operation, scope, until, reason, by, at) VALUES ('', 'tenant=north', 2, 'r', 'b', 0)`,
		`INSERT INTO refrain_fence (operation, scope, until, reason, by, at) VALUES ('', '', 3, 'r', 'b', 0)`)
	if err != nil {
		t.Fatal(err)
	}
	r := toEurope
	r.To = "orders.place"
	done, err := db.Rekey(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "done", done, Rekeyed{Operation: "orders.place", Identity: "tenant,region", Records: 1, Reviews: 1, Allows: 1, Fences: 2})
	next := european("allowed")
	next.Contract.Operation = "orders.place"
	seen, _, err := db.Load(t.Context(), id(next))
	if err != nil || !seen.Allowed || seen.Horizon.UnixMicro() != 7_000_000 || seen.FenceUntil.UnixMicro() != 3 {
		t.Errorf("seen %+v, %v", seen, err)
	}
	got, err := texts(t.Context(), db.Reader(), `SELECT operation || '|' || scope || '|' || until FROM refrain_fence ORDER BY id`)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "fences", got, []string{"orders.place||1", "|tenant=north|2", "||3", "orders.place|tenant=north&region=eu|2"})
	got, err = texts(t.Context(), db.Reader(), `SELECT operation || '|' || scope || '|' || count FROM refrain_review`)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "reviews", got, []string{"orders.place|tenant=north&region=eu|3"})
	lines, err := db.Audits(t.Context(), "")
	if err != nil || len(lines) != 1 || lines[0].Action != "rekey" || lines[0].Reason != r.Reason || lines[0].By != r.By {
		t.Errorf("audit %+v, %v", lines, err)
	}
}

// The identity that is wanted orders the dimensions and may be the default.
func TestRekeyIdentity(t *testing.T) {
	db := openShop(t)
	c := call("k")
	c.Scope = c.Scope.Subject("me")
	first := mustRun(t, db, c, put("k"))
	done, err := db.Rekey(t.Context(), Rekey{Operation: "orders.create", Add: [][2]string{{"region", "eu"}},
		Identity: "tenant,region,subject", By: "ops", Reason: "a test"})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "identity", done.Identity, "tenant,region,subject")
	next := call("k")
	next.Contract.Dimensions = []string{"tenant", "region", "subject"}
	next.Scope = next.Scope.With("region", "eu").Subject("me")
	if again := mustRun(t, db, next, put("twice")); again.Ref != first.Ref {
		t.Errorf("replay %+v", again)
	}
	done, err = db.Rekey(t.Context(), Rekey{Operation: "orders.create", Drop: []string{"region"},
		Identity: refrain.Contract{}.IdentityVersion(), By: "ops", Reason: "a test"})
	if err != nil {
		t.Fatal(err)
	}
	if again := mustRun(t, db, c, put("twice")); again.Ref != first.Ref {
		t.Errorf("replay %+v", again)
	}
	if err := db.Register(context.Background(), contract); err != nil {
		t.Error(err)
	}
}

// A timed key of a moved record is older than the horizon: its old process must
// not take the retry for a late one, nor store a review under the old identity.
func TestRekeyBehindHorizon(t *testing.T) {
	db := openShop(t)
	const timed = "01938e85-1000-7000-8000-000000000001" // a UUIDv7 of November 2024
	first := mustRun(t, db, call(timed), put("timed"))
	if err := db.Setup(t.Context(), `UPDATE refrain_operation SET horizon = 4000000000000000`); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Rekey(t.Context(), toEurope); err != nil {
		t.Fatal(err)
	}
	for range 2 { // looked up before the writer's turn, and inside it
		wantRow(t, run(db, call(timed), put("twice")), "9", refrain.ErrContractChanged)
	}
	got, err := texts(t.Context(), db.Reader(), `SELECT scope FROM refrain_review`)
	if err != nil || len(got) != 0 {
		t.Errorf("reviews %q, %v", got, err)
	}
	if again := mustRun(t, db, european(timed), put("twice")); again.Ref != first.Ref {
		t.Errorf("replay %+v", again)
	}
}

// A handle of the application's own has no connection of ours.
func TestRekeyOnHandle(t *testing.T) {
	db, _ := onHandle(t)
	first := mustRun(t, db, call("k"), put("k"))
	if _, err := db.Rekey(t.Context(), toEurope); err != nil {
		t.Fatal(err)
	}
	if again := mustRun(t, db, european("k"), put("twice")); !again.Replayed || again.Ref != first.Ref {
		t.Errorf("replay %+v", again)
	}
	if lines, err := db.Audits(t.Context(), ""); err != nil || len(lines) != 1 {
		t.Errorf("audit %+v, %v", lines, err)
	}
	if _, _, err := db.Oldest(t.Context(), Query{}); err != nil {
		t.Error(err)
	}
}
