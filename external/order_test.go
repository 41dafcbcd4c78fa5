package external_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/refrain-dev/refrain/external"
	"github.com/refrain-dev/refrain/memstore"
	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"
)

// closing is a change that closes attempt n as a late worker of another process
// does.
func closing(n int, reply operation.Reply) func(context.Context, memstore.Tx, operation.Seen) (operation.Edit, error) {
	return func(_ context.Context, _ memstore.Tx, seen operation.Seen) (operation.Edit, error) {
		next := seen.Operation.Close(n, reply, seen.Now, operation.Pace{})
		edit := operation.Edit{Put: &next}
		if rec, changed := next.Mirror(*seen.Record); changed {
			edit.Record = &rec
		}
		return edit, nil
	}
}

// detached accepts without an action.
func (d *depot) detached(in external.Intent) operation.Operation {
	d.t.Helper()
	in.Detached = true
	var o operation.Operation
	err := d.db.Update(context.Background(), func(tx memstore.Tx) (err error) {
		o, err = d.runner.Accept(context.Background(), tx, in)
		return err
	})
	if err != nil {
		d.t.Fatal(err)
	}
	return o
}

// TestPartition: one after the other in the order of insertion, whatever fails in
// between; what is parked does not block.
func TestPartition(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, d *depot) {
		d.step.Pace.Budget = 4
		var order []string
		fails := map[string]int{"a0": 2, "a2": 99}
		d.carrier.answer = func(_ context.Context, _ int, s external.Submission) operation.Reply {
			time.Sleep(10 * time.Millisecond)
			name := string(s.Input)
			d.carrier.mu.Lock()
			fails[name]--
			failing := fails[name] >= 0
			if !failing {
				order = append(order, name)
			}
			d.carrier.mu.Unlock()
			if failing {
				return operation.Reply{End: operation.NotSent, Note: "no"}
			}
			return d.carrier.send(s)
		}
		d.start()
		d.run(d.another())
		var refs []string
		for i := range 5 {
			for _, p := range []string{"a", "b"} {
				refs = append(refs, d.detached(external.Intent{Step: "ship", Partition: p, Input: fmt.Append(nil, p, i)}).Ref)
			}
		}
		pass(500 * time.Millisecond)
		d.carrier.mu.Lock()
		early := slices.Clone(order)
		d.carrier.mu.Unlock()
		if want := []string{"b0", "b1", "b2", "b3", "b4"}; !slices.Equal(early, want) {
			t.Fatalf("while a0 fails: %v, want %v", early, want)
		}
		pass(2 * time.Minute)
		if want := []string{"b0", "b1", "b2", "b3", "b4", "a0", "a1", "a3", "a4"}; !slices.Equal(order, want) {
			t.Fatalf("order %v, want %v", order, want)
		}
		d.want(refs[4], record.Accepted) // a2 is parked
	})
}

// TestNextStep: an action goes through its steps; its record is open until the
// last one is settled.
func TestNextStep(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, d *depot) {
		door, open := d.door()
		d.step.Settle = func(ctx context.Context, tx memstore.Tx, s external.Settled) (record.Result, error) {
			if _, err := d.runner.Accept(ctx, tx, external.Intent{Step: "bill", Input: []byte(s.Reply.Reference)}); err != nil {
				return record.Result{}, err
			}
			_, err := d.runner.Accept(ctx, tx, external.Intent{Step: "bill"})
			if !errors.Is(err, external.ErrWaits) {
				t.Errorf("a second next step: %v", err)
			}
			_, err = d.runner.Accept(ctx, tx, external.Intent{Step: "mail", Detached: true})
			return record.Result{}, err
		}
		bill := external.Step[memstore.Tx]{Name: "bill", Provider: "carrier", Settle: shipped}
		mail := external.Step[memstore.Tx]{Name: "mail", Provider: "carrier"}
		d.carrier.answer = func(_ context.Context, _ int, s external.Submission) operation.Reply {
			if s.Step == "bill" {
				<-door
			}
			return d.carrier.send(s)
		}
		d.start(bill, mail)
		first := d.accept("k")
		pass(5 * time.Second)
		if o := d.load(first.Ref); o.State != record.Confirmed {
			t.Fatalf("the first step is %s", o.State)
		}
		second := d.of(first.Action)
		if second.Step != "bill" || second.Key == first.Key || second.Memory != first.Memory || string(second.Input) != "track-"+first.Key[:8] {
			t.Fatalf("the second step: %+v", second)
		}
		d.want(second.Ref, record.Submitted)
		open()
		pass(time.Second)
		d.want(second.Ref, record.Confirmed)
		if again, err := d.ship("k"); err != nil || again.Value != "shipped track-"+second.Key[:8] {
			t.Errorf("repeat: %+v, %v", again, err)
		}
		if calls, _ := d.carrier.count(); calls != 3 {
			t.Errorf("%d submissions, want ship, bill and mail", calls)
		}
	})
}

// TestRolledBackIntent: what was not committed is never submitted.
func TestRolledBackIntent(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, d *depot) {
		d.start()
		_ = d.db.Update(t.Context(), func(tx memstore.Tx) error {
			_, err := d.runner.Accept(t.Context(), tx, external.Intent{Step: "ship", Detached: true})
			return errors.Join(err, errors.New("changed my mind"))
		})
		pass(time.Minute)
		if calls, _ := d.carrier.count(); calls != 0 {
			t.Errorf("%d submissions", calls)
		}
	})
}

// TestUnknownStep: what another version accepted is left to it.
func TestUnknownStep(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, d *depot) {
		newer := external.Step[memstore.Tx]{Name: "fly", Provider: "carrier", Settle: shipped}
		d.runner = d.another(newer)
		o := d.detached(external.Intent{Step: "fly"})
		stop := d.start()
		other := d.detached(external.Intent{Step: "ship"})
		pass(time.Minute)
		d.want(o.Ref, record.Accepted)
		d.want(other.Ref, record.Confirmed)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		d.start(newer)
		pass(time.Minute)
		d.want(o.Ref, record.Confirmed)
	})
}
