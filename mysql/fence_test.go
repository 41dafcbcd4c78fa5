package mysql

import (
	"encoding/hex"
	"errors"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

// A fence stands, is ended, and goes, each with a line of audit.
func TestFences(t *testing.T) {
	a := newAged(t)
	ctx := t.Context()
	f := upkeep.Fence{Operation: "orders.create", Scope: refrain.Tenant("north").String(), Until: a.now.Add(-time.Minute), Since: a.now.Add(-time.Hour), Reason: "restored", By: "ops"}
	future := f
	future.Until = a.now.Add(time.Microsecond)
	if _, err := a.db.SetFence(ctx, future); !errors.Is(err, upkeep.ErrFence) {
		t.Errorf("until the future: %v", err)
	}
	var err error
	if f.ID, err = a.db.SetFence(ctx, f); err != nil {
		t.Fatal(err)
	}
	f.At = a.now
	if all, err := a.db.Fences(ctx); err != nil || len(all) != 1 || all[0] != f {
		t.Errorf("%+v, %v; want %+v", all, err, f)
	}
	wantRow(t, errOf(a.db.Execute(ctx, order("untimed"), buys("x"))), "2", refrain.ErrTooLate)
	a.now = a.now.Add(time.Second)
	if err := a.db.EndFence(ctx, f.ID, "ops", "done"); err != nil {
		t.Fatal(err)
	}
	if err := a.db.EndFence(ctx, f.ID, "ops", "done"); !errors.Is(err, record.ErrNotFound) {
		t.Errorf("ended twice: %v", err)
	}
	if all, err := a.db.Fences(ctx); err != nil || !all[0].Ended.Equal(a.now) {
		t.Errorf("%+v, %v", all, err)
	}
	mustBuy(t, a.db, order("untimed"))
	if err := a.db.VoidFence(ctx, f.ID, "ops", "a mistake"); err != nil {
		t.Fatal(err)
	}
	if err := a.db.VoidFence(ctx, f.ID, "ops", "a mistake"); !errors.Is(err, record.ErrNotFound) {
		t.Errorf("void twice: %v", err)
	}
	lines, err := a.db.Audits(ctx, "")
	if err != nil || len(lines) != 3 {
		t.Fatalf("%+v, %v", lines, err)
	}
	for i, action := range []string{"fence", "fence-end", "fence-void"} {
		if l := lines[i]; l.Action != action || l.By != "ops" || l.Reason == "" || l.Detail != "fence 1: orders.create, tenant=north, until 2029-12-31T23:59:00Z" {
			t.Errorf("%+v, want %s", l, action)
		}
	}
}

// Reviews are told in order, and settled with the record or the allow they get.
func TestReviews(t *testing.T) {
	a := newAged(t)
	ctx := t.Context()
	if err := a.db.Register(ctx, order("").Contract); err != nil {
		t.Fatal(err)
	}
	if _, err := a.db.SetFence(ctx, upkeep.Fence{Until: a.now, Reason: "restored", By: "ops"}); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"a", "b", "c", "a"} {
		wantRow(t, errOf(a.db.Execute(ctx, order(key), buys(key))), "2", refrain.ErrTooLate)
	}
	all, err := a.db.Reviews(ctx, upkeep.ReviewQuery{})
	if err != nil || len(all) != 3 || all[0].ID() >= all[1].ID() || all[1].ID() >= all[2].ID() {
		t.Fatalf("%+v, %v", all, err)
	}
	for _, q := range []upkeep.ReviewQuery{{After: all[0].ID(), Limit: 1}, {ID: all[1].ID()}, {After: all[0].ID(), Scope: "tenant=north", Operation: "orders.create", Limit: 1}} {
		if got, err := a.db.Reviews(ctx, q); err != nil || len(got) != 1 || got[0] != all[1] {
			t.Errorf("%+v: %+v, %v", q, got, err)
		}
	}
	for _, q := range []upkeep.ReviewQuery{{After: all[2].ID()}, {ID: "no hash"}, {Scope: "tenant=south"}, {Operation: "orders.other"}} {
		if got, err := a.db.Reviews(ctx, q); err != nil || len(got) != 0 {
			t.Errorf("%+v: %+v, %v", q, got, err)
		}
	}
	id := func(key string) string {
		hash := identityOf(t, order(key)).Hash()
		return hex.EncodeToString(hash[:])
	}
	if err := upkeep.Allow(ctx, a.db, id("a"), "ops", "seen to"); err != nil {
		t.Error(err)
	}
	if err := upkeep.Done(ctx, a.db, id("b"), "/orders/b", "ops", "seen to"); err != nil {
		t.Error(err)
	}
	if left, err := a.db.Reviews(ctx, upkeep.ReviewQuery{}); err != nil || len(left) != 1 || left[0].Identity.Key != "c" {
		t.Errorf("left %+v, %v", left, err)
	}
	mustBuy(t, a.db, order("a"))
	wantRow(t, errOf(a.db.Execute(ctx, order("b"), buys("b"))), "5", refrain.ErrResultGone)
	a.wants(t, "a")
}

// The store stays the same one, and its counter only rises.
func TestIncarnation(t *testing.T) {
	a := newAged(t)
	first, err := a.db.Incarnation(t.Context())
	if err != nil || len(first.Store) != 32 || first.Epoch != 1 || first.Counter != 0 || !first.At.Equal(a.now) {
		t.Errorf("%+v, %v", first, err)
	}
	a.now = a.now.Add(time.Second)
	for _, db := range []*DB{a.db, a.another} {
		first.Counter, first.At = first.Counter+1, a.now
		if is, err := db.Advance(t.Context()); err != nil || is != first {
			t.Errorf("%+v, %v; want %+v", is, err, first)
		}
	}
	if is, err := a.another.Incarnation(t.Context()); err != nil || is != first {
		t.Errorf("%+v, %v; want %+v", is, err, first)
	}
}

// A record is stored although nobody has told the store its operation, which then
// stays unknown until somebody does.
func TestChangePutsOfAnUnknownOperation(t *testing.T) {
	a := newAged(t)
	claim, err := order("k").Claim()
	if err != nil {
		t.Fatal(err)
	}
	rec := claim.Begin(a.now)
	rec.Settle(made, a.now, claim.Policy)
	if err := a.db.Change(t.Context(), rec.Identity, func(record.Seen, time.Time) (record.Edit, error) { return record.Edit{Put: rec}, nil }); err != nil {
		t.Fatal(err)
	}
	if known := column(t, a.raw, `SELECT operation FROM refrain_operation`); len(known) != 0 {
		t.Errorf("knows %q", known)
	}
	if again := mustBuy(t, a.db, order("k")); !again.Replayed {
		t.Error("no replay")
	}
	mustBuy(t, a.db, order("another"))
	if known := column(t, a.raw, `SELECT operation FROM refrain_operation`); len(known) != 1 {
		t.Errorf("knows %q", known)
	}
}
