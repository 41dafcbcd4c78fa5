package sqlite

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

// states makes one record of each kind and returns their refs.
func states(t *testing.T, db *DB, now *time.Time) map[string]string {
	t.Helper()
	refs := map[string]string{"unknown": openAttempt(t, db, "lost").Ref}
	*now = now.Add(refrain.DefaultLease)
	refs["submitted"] = openAttempt(t, db, "live").Ref
	*now = now.Add(time.Millisecond)
	refs["confirmed"] = mustRun(t, db, call("done"), put("done")).Ref
	*now = now.Add(time.Millisecond)
	refs["disputed"] = mustRun(t, db, call("disputed"), put("disputed")).Ref
	if err := db.Setup(t.Context(), `UPDATE refrain_record SET disputed = 1 WHERE ref = '`+refs["disputed"]+`'`); err != nil {
		t.Fatal(err)
	}
	refs["rejected"] = mustRun(t, db, call("rejected"), func(context.Context, Tx) (refrain.Result, error) {
		return refrain.Result{Rejected: true}, nil
	}).Ref
	return refs
}

func TestOldest(t *testing.T) {
	now := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	db := openShop(t, Options{Now: func() time.Time { return now }})
	refs := states(t, db, &now)
	for name, tt := range map[string]struct {
		query Query
		want  []string
	}{
		"what waits":    {Query{}, []string{"unknown", "submitted", "disputed"}},
		"unknown":       {Query{State: "unknown"}, []string{"unknown"}},
		"submitted":     {Query{State: "submitted"}, []string{"submitted"}},
		"disputed":      {Query{State: "disputed"}, []string{"disputed"}},
		"confirmed":     {Query{State: "confirmed"}, []string{"confirmed"}},
		"rejected":      {Query{State: "rejected"}, []string{"rejected"}},
		"limited":       {Query{Limit: 1}, []string{"unknown"}},
		"an operation":  {Query{Operation: "orders.create", Limit: 5000}, []string{"unknown", "submitted", "disputed"}},
		"another one":   {Query{Operation: "orders.place"}, nil},
		"none accepted": {Query{State: "accepted"}, nil},
	} {
		recs, at, err := db.Oldest(t.Context(), tt.query)
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
	if _, _, err := db.Oldest(t.Context(), Query{State: "pending"}); err == nil {
		t.Error("an unknown state was accepted")
	}
	rec, _, err := db.Standing(t.Context(), refs["unknown"])
	if err != nil || rec.State != record.Unknown {
		t.Errorf("standing %s, %v", rec.State, err)
	}
	if _, _, err := db.Standing(t.Context(), "op_none"); err != record.ErrNotFound {
		t.Errorf("standing of none: %v", err)
	}
}

// What an operator did is told with the record it was done to, and commits with it.
func TestAudits(t *testing.T) {
	now := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	db := openShop(t, Options{Now: func() time.Time { return now }})
	rec := openAttempt(t, db, "k")
	resolve := func() error {
		return db.Change(t.Context(), rec.Identity, func(seen record.Seen, now time.Time) (record.Edit, error) {
			return record.Resolve(seen, now, record.Result{Status: 201}, contract.Policy(), "ops", "seen at the provider")
		})
	}
	if err := resolve(); err == nil {
		t.Error("a live attempt was resolved")
	}
	if lines, err := db.Audits(t.Context(), rec.Ref); err != nil || len(lines) != 0 {
		t.Errorf("a refused resolution left %+v, %v", lines, err)
	}
	now = now.Add(refrain.DefaultLease)
	if err := resolve(); err != nil {
		t.Fatal(err)
	}
	lines, err := db.Audits(t.Context(), rec.Ref)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "audits", lines, []Audit{{At: now, By: "ops", Action: "resolve", Ref: rec.Ref, Reason: "seen at the provider", Detail: lines[0].Detail}})
	if again := mustRun(t, db, call("k"), put("twice")); !again.Replayed || again.Status != 201 {
		t.Errorf("replay %+v", again)
	}
	wantItems(t, db)
}
