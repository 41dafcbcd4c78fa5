package mysql

import (
	"context"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"
)

// charge is an operation nobody waits for.
func charge(partition string) operation.Operation {
	return operation.Operation{Ref: record.NewRef(time.Now()), Step: "charge", Provider: "bank", Partition: partition, Key: "k", Input: []byte("in'put\\")}
}

// accept adds operations in a transaction of the application's.
func (s shop) accept(t testing.TB, db *DB, all ...operation.Operation) {
	t.Helper()
	tx, err := s.raw.Begin()
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range all {
		if err := db.Operations().Add(t.Context(), tx, o); err != nil {
			t.Fatal(err)
		}
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
}

// opens begins an attempt and mirrors it.
func opens(seen operation.Seen) operation.Edit {
	o, err := seen.Operation.Open(operation.Terms{}, seen.Now, time.Minute)
	if err != nil {
		return operation.Edit{}
	}
	edit := operation.Edit{Put: &o}
	if seen.Record != nil {
		if rec, changed := o.Mirror(*seen.Record); changed {
			edit.Record = &rec
		}
	}
	return edit
}

// confirming settles an operation and its record with a result.
func confirming(result refrain.Result) func(context.Context, Tx, operation.Seen) (operation.Edit, error) {
	return func(_ context.Context, _ Tx, seen operation.Seen) (operation.Edit, error) {
		o := seen.Operation.Close(len(seen.Operation.Attempts), operation.Reply{End: operation.Confirmed}, seen.Now, operation.Pace{})
		edit := operation.Edit{Put: &o, By: "machine"}
		if seen.Record != nil {
			rec := *seen.Record
			rec.Settle(result, seen.Now, record.Policy{ReplayFor: time.Hour, RememberFor: time.Hour})
			rec.Lease = time.Time{}
			edit.Record = &rec
		}
		return edit, nil
	}
}

func takes(t testing.TB, db *DB, decide func(operation.Seen) operation.Edit) []operation.Operation {
	t.Helper()
	taken, _, err := db.Operations().Take(t.Context(), "bank", 100, decide)
	if err != nil {
		t.Fatal(err)
	}
	return taken
}

func storedIn(t testing.TB, db *DB, ref string) operation.Operation {
	t.Helper()
	o, _, err := db.Operations().Load(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// live takes one operation, whose action is key's, from its acceptance to its end.
func (s shop) live(t testing.TB, db *DB, key string, result refrain.Result) {
	t.Helper()
	ctx, ops := t.Context(), db.Operations()
	var o operation.Operation
	call := order(key)
	if _, err := db.Execute(ctx, call, func(ctx context.Context, tx Tx) (refrain.Result, error) {
		rec, _, _ := record.Accept(ctx)
		o = charge("")
		o.Action = rec.Ref
		return made, ops.Add(ctx, tx, o)
	}); err != nil {
		t.Fatal(err)
	}
	first, second := charge("one by one\xe4"), charge("one by one\xe4")
	s.accept(t, db, first, second)
	taken := takes(t, db, func(seen operation.Seen) operation.Edit {
		if seen.Behind.IsZero() {
			return opens(seen)
		}
		seen.Operation.Due = seen.Now.Add(time.Hour)
		return operation.Edit{Put: &seen.Operation}
	})
	if len(taken) != 3 {
		t.Errorf("took %+v", taken)
	}
	for _, ref := range []string{o.Ref, first.Ref} {
		if err := ops.Change(ctx, ref, confirming(result)); err != nil {
			t.Fatal(err)
		}
	}
	if next := takes(t, db, opens); len(next) != 1 || next[0].Ref != second.Ref {
		t.Errorf("next %+v", next)
	}
	of, err := ops.Of(ctx, o.Action)
	if err != nil || len(of) != 1 || of[0].State != record.Confirmed || of[0].Version != 3 || string(of[0].Input) != string(o.Input) {
		t.Errorf("settled: %+v, %v", of, err)
	}
	if all, err := ops.List(ctx, operation.Operation{State: record.Submitted}, 0); err != nil || len(all) != 1 || all[0].Ref != second.Ref {
		t.Errorf("under way: %+v, %v", all, err)
	}
	out, err := db.Execute(ctx, call, buys("again"))
	if err != nil || !out.Replayed || out.Ref != o.Action || len(out.Body) != len(result.Body) {
		t.Errorf("a repeat: %.300v, %v", out, err)
	}
	if err := ops.Change(ctx, second.Ref, confirming(result)); err != nil {
		t.Error(err)
	}
	if n, err := ops.Forget(ctx, time.Now().Add(time.Hour), 10); n != 2 || err != nil {
		t.Errorf("%d forgotten, %v", n, err)
	}
}
