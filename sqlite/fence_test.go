package sqlite

import (
	"errors"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

// The life of a fence, and that the id of one which is gone never names another.
func TestFence(t *testing.T) {
	db, clock := shopAt(t)
	ctx := t.Context()
	set := func(f upkeep.Fence) int64 {
		t.Helper()
		f.By, f.Reason = "ops", "restored"
		id, err := db.SetFence(ctx, f)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	if _, err := db.SetFence(ctx, upkeep.Fence{Until: clock.now().Add(time.Hour), By: "ops", Reason: "x"}); !errors.Is(err, upkeep.ErrFence) {
		t.Errorf("%v, want ErrFence", err)
	}
	until := clock.now().Add(-time.Hour)
	mistake := set(upkeep.Fence{Until: until})
	if err := db.VoidFence(ctx, mistake, "ops", "a mistake"); err != nil {
		t.Fatal(err)
	}
	id := set(upkeep.Fence{Operation: contract.Operation, Scope: "tenant=north", Until: until, Since: until.Add(-time.Hour)})
	if id == mistake {
		t.Error("the id of a fence that was voided is given again")
	}
	clock.pass(time.Minute)
	wantRow(t, run(db, call("untimed"), put("a")), "2", refrain.ErrTooLate)
	if err := db.EndFence(ctx, id, "ops", "done"); err != nil {
		t.Fatal(err)
	}
	if err := run(db, call("untimed"), put("a")); err != nil {
		t.Error(err)
	}
	wantRow(t, run(db, call(uuid7(until, 1)), put("a")), "2", refrain.ErrTooLate)
	all, err := db.Fences(ctx)
	want := upkeep.Fence{ID: id, Operation: contract.Operation, Scope: "tenant=north", Until: until.UTC(), Since: until.Add(-time.Hour).UTC(),
		Reason: "restored", By: "ops", At: formatClock, Ended: clock.now().UTC()}
	if err != nil || len(all) != 1 || all[0] != want {
		t.Errorf("%+v, %v; want %+v", all, err, want)
	}
	for what, err := range map[string]error{
		"end again": db.EndFence(ctx, id, "ops", "x"), "end one that is gone": db.EndFence(ctx, mistake, "ops", "x"), "void it": db.VoidFence(ctx, mistake, "ops", "x"),
	} {
		if !errors.Is(err, record.ErrNotFound) {
			t.Errorf("%s: %v, want ErrNotFound", what, err)
		}
	}
	lines, err := db.Audits(ctx, "")
	var actions []string
	for _, l := range lines {
		actions = append(actions, l.Action+" "+l.Detail)
	}
	if err != nil {
		t.Fatal(err)
	}
	every, one := "every operation in every scope until 2026-01-01T11:00:00.123456Z", "orders.create in tenant=north until 2026-01-01T11:00:00.123456Z"
	equal(t, "audit", actions, []string{"fence " + every, "fence-void " + every, "fence " + one, "fence-end " + one})
}

// What is under review is listed by its hash, and a settled one is gone.
func TestReviews(t *testing.T) {
	db, clock := shopAt(t)
	ctx := t.Context()
	if err := db.Register(ctx, contract); err != nil {
		t.Fatal(err)
	}
	if _, err := db.SetFence(ctx, upkeep.Fence{Until: clock.now(), By: "ops", Reason: "restored"}); err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		c := call(string(rune('a' + i)))
		if i == 4 {
			c.Scope = refrain.Tenant("south")
		}
		for range 2 {
			wantRow(t, run(db, c, put("late")), "2", refrain.ErrTooLate)
		}
	}
	all, err := db.Reviews(ctx, upkeep.ReviewQuery{})
	if err != nil || len(all) != 5 {
		t.Fatalf("%+v, %v", all, err)
	}
	for i, r := range all {
		if i > 0 && r.ID() <= all[i-1].ID() || r.Count != 2 || !r.First.Equal(formatClock) {
			t.Errorf("%d: %+v", i, r)
		}
	}
	for name, tt := range map[string]struct {
		q    upkeep.ReviewQuery
		want []upkeep.Review
	}{
		"one":       {upkeep.ReviewQuery{ID: all[2].ID()}, all[2:3]},
		"behind":    {upkeep.ReviewQuery{After: all[1].ID(), Limit: 2}, all[2:4]},
		"operation": {upkeep.ReviewQuery{Operation: "other"}, nil},
		"malformed": {upkeep.ReviewQuery{ID: "x"}, nil},
	} {
		got, err := db.Reviews(ctx, tt.q)
		if err != nil {
			t.Error(err)
		}
		equal(t, name, got, tt.want)
	}
	if south, err := db.Reviews(ctx, upkeep.ReviewQuery{Scope: "tenant=south"}); err != nil || len(south) != 1 || south[0].Identity.Key != "e" {
		t.Errorf("%+v, %v", south, err)
	}
	allowed, refused := all[0], all[1]
	if err := upkeep.Allow(ctx, db, allowed.ID(), "ops", "it was lost"); err != nil {
		t.Fatal(err)
	}
	if err := upkeep.Done(ctx, db, refused.ID(), "/orders/7", "ops", "it is there"); err != nil {
		t.Fatal(err)
	}
	left, err := db.Reviews(ctx, upkeep.ReviewQuery{})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "left", left, all[2:])
	seen, _, err := db.Load(ctx, refused.Identity)
	if err != nil || seen.Record == nil || seen.Record.Result.Effect != "/orders/7" || seen.Record.Result.Kept() {
		t.Errorf("done: %+v, %v", seen.Record, err)
	}
	if seen, _, err := db.Load(ctx, allowed.Identity); err != nil || !seen.Allowed {
		t.Errorf("allow: %+v, %v", seen, err)
	}
}

// The counter rises with each Advance, in every process that has the file open.
func TestIncarnation(t *testing.T) {
	path := t.TempDir() + "/shop.db"
	one, two := openAt(t, path), openAt(t, path)
	is, err := one.Incarnation(t.Context())
	if err != nil || len(is.Store) != 32 || is.Epoch != 1 || is.At.IsZero() {
		t.Fatalf("%+v, %v", is, err)
	}
	for i, db := range []*DB{one, two, one} {
		next, err := db.Advance(t.Context())
		if err != nil || next.Store != is.Store || next.Counter != is.Counter+int64(i)+1 {
			t.Errorf("%+v, %v", next, err)
		}
	}
	if is, err := two.Incarnation(t.Context()); err != nil || is.Counter != 3 {
		t.Errorf("%+v, %v", is, err)
	}
}
