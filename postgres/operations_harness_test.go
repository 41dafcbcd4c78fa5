package postgres

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"
)

// charge is an operation nobody waits for.
func charge(partition string) operation.Operation {
	return operation.Operation{Ref: record.NewRef(time.Now()), Step: "charge", Provider: "bank", Partition: partition, Key: "k", Input: []byte("input")}
}

// accept adds operations in a transaction of the application's.
func (s *shop) accept(t testing.TB, all ...operation.Operation) {
	t.Helper()
	err := pgx.BeginFunc(t.Context(), s.raw, func(tx pgx.Tx) error {
		for _, o := range all {
			if err := s.Operations().Add(t.Context(), tx, o); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// pay is an effect that accepts one operation.
func (s *shop) pay(o *operation.Operation) effect {
	return func(ctx context.Context, tx Tx) (refrain.Result, error) {
		rec, _, _ := record.Accept(ctx)
		*o = charge("")
		o.Action = rec.Ref
		return done, s.Operations().Add(ctx, tx, *o)
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

// confirms settles an operation and its record.
func confirms(seen operation.Seen) operation.Edit {
	o := seen.Operation.Close(len(seen.Operation.Attempts), operation.Reply{End: operation.Confirmed}, seen.Now, operation.Pace{})
	edit := operation.Edit{Put: &o}
	if seen.Record != nil {
		rec := *seen.Record
		rec.Settle(done, seen.Now, record.Policy{ReplayFor: time.Hour, RememberFor: time.Hour})
		rec.Lease = time.Time{}
		edit.Record = &rec
	}
	return edit
}

// deciding makes a decision Change's.
func deciding[T any](decide func(operation.Seen) operation.Edit) func(context.Context, T, operation.Seen) (operation.Edit, error) {
	return func(_ context.Context, _ T, seen operation.Seen) (operation.Edit, error) { return decide(seen), nil }
}

func (s *shop) takes(t testing.TB, decide func(operation.Seen) operation.Edit) []operation.Operation {
	t.Helper()
	taken, _, err := s.Operations().Take(t.Context(), "bank", 100, decide)
	if err != nil {
		t.Fatal(err)
	}
	return taken
}

func (s *shop) stored(t testing.TB, ref string) operation.Operation {
	t.Helper()
	o, _, err := s.Operations().Load(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// live takes one operation from its acceptance to its end.
func (s *shop) live(t testing.TB) {
	t.Helper()
	var o operation.Operation
	if err := s.run(keeperCall("k"), s.pay(&o)); err != nil {
		t.Fatal(err)
	}
	first, second := charge("one by one\u00e4'"), charge("one by one\u00e4'")
	s.accept(t, first, second)
	taken := s.takes(t, func(seen operation.Seen) operation.Edit {
		if seen.Behind.IsZero() {
			return opens(seen)
		}
		seen.Operation.Due = seen.Now.Add(time.Hour)
		return operation.Edit{Put: &seen.Operation}
	})
	same(t, "taken", len(taken), 3)
	for _, ref := range []string{o.Ref, first.Ref} {
		if err := s.Operations().Change(t.Context(), ref, func(ctx context.Context, tx Tx, seen operation.Seen) (operation.Edit, error) {
			edit := confirms(seen)
			edit.By = "machine"
			return edit, nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	same(t, "the next", len(s.takes(t, opens)), 1)
	of, err := s.Operations().Of(t.Context(), o.Action)
	if err != nil || len(of) != 1 || of[0].State != record.Confirmed || of[0].Version != 3 {
		t.Errorf("settled: %+v, %v", of, err)
	}
	if all, err := s.Operations().List(t.Context(), operation.Operation{State: record.Submitted}, 0); err != nil || len(all) != 1 || all[0].Ref != second.Ref {
		t.Errorf("under way: %+v, %v", all, err)
	}
	out, err := s.Execute(t.Context(), keeperCall("k"), s.put("again"))
	if err != nil || !out.Replayed || out.Ref != o.Action {
		t.Errorf("a repeat: %+v, %v", out, err)
	}
	if n, err := s.Operations().Forget(t.Context(), time.Now().Add(time.Hour), 10); n != 1 || err != nil {
		t.Errorf("%d forgotten, %v", n, err)
	}
}
