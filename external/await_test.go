package external_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/external"
	"github.com/refrain-dev/refrain/memstore"
	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"
)

// TestAwaitDrives: the caller's operation is submitted at once, not at the next
// poll, and once.
func TestAwaitDrives(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, d *depot) {
		d.options.Poll = time.Hour
		d.carrier.answer = func(_ context.Context, _ int, s external.Submission) operation.Reply {
			time.Sleep(300 * time.Millisecond)
			return d.carrier.send(s)
		}
		d.start()
		other := d.another() // accepts here, so that the runner is not woken
		running := d.runner
		d.runner = other
		o := d.accept("k")
		d.runner = running
		began := time.Now()
		if err := d.runner.Await(t.Context(), o.Action, 2*time.Second); err != nil || time.Since(began) != 300*time.Millisecond {
			t.Errorf("Await: %v after %v", err, time.Since(began))
		}
		wantEnds(t, d.want(o.Ref, record.Confirmed), operation.Confirmed)
		if err := d.runner.Await(t.Context(), o.Action, time.Second); err != nil {
			t.Errorf("Await of what is settled: %v", err)
		}
		if calls, _ := d.carrier.count(); calls != 1 {
			t.Errorf("%d calls", calls)
		}
	})
}

// TestAwaitGivesUp: the end of the waiting, or of the client, is not that of the
// operation.
func TestAwaitGivesUp(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, d *depot) {
		d.carrier.answer = func(_ context.Context, _ int, s external.Submission) operation.Reply {
			time.Sleep(5 * time.Second)
			return d.carrier.send(s)
		}
		d.start()
		o := d.accept("k")
		gone := errors.New("the client left")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(gone) })
		if err := d.runner.Await(ctx, o.Action, time.Minute); !errors.Is(err, gone) {
			t.Errorf("Await: %v", err)
		}
		began := time.Now()
		if err := d.runner.Await(t.Context(), o.Action, 2*time.Second); !errors.Is(err, external.ErrUnsettled) || time.Since(began) != 2*time.Second {
			t.Errorf("Await: %v after %v", err, time.Since(began))
		}
		if err := d.runner.Await(t.Context(), "op_unknown", time.Second); !errors.Is(err, record.ErrNotFound) {
			t.Errorf("Await of nothing: %v", err)
		}
		pass(3 * time.Second)
		wantEnds(t, d.want(o.Ref, record.Confirmed), operation.Confirmed)
	})
}

// TestAwaitElsewhere: it waits for what another process does.
func TestAwaitElsewhere(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, d *depot) {
		d.start()
		o := d.accept("k")
		idle := d.another() // does not run: it only waits
		if err := idle.Await(t.Context(), o.Action, time.Second); err != nil {
			t.Errorf("Await: %v", err)
		}
		wantEnds(t, d.want(o.Ref, record.Confirmed), operation.Confirmed)
	})
}

func TestAwaitSeveralCallers(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, d *depot) {
		d.carrier.answer = func(_ context.Context, _ int, s external.Submission) operation.Reply {
			time.Sleep(100 * time.Millisecond)
			return d.carrier.send(s)
		}
		d.start()
		d.run(d.another())
		o := d.accept("k")
		ended := make(chan error)
		for range 20 {
			go func() { ended <- d.runner.Await(t.Context(), o.Action, time.Second) }()
		}
		for range 20 {
			if err := <-ended; err != nil {
				t.Errorf("Await: %v", err)
			}
		}
		wantEnds(t, d.want(o.Ref, record.Confirmed), operation.Confirmed)
	})
}

// TestAwaitGoesThroughTheSteps: in band to the end of the chain.
func TestAwaitGoesThroughTheSteps(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, d *depot) {
		d.options.Poll = time.Hour
		d.step.Settle = func(ctx context.Context, tx memstore.Tx, s external.Settled) (record.Result, error) {
			_, err := d.runner.Accept(ctx, tx, external.Intent{Step: "bill"})
			return record.Result{}, err
		}
		d.start(external.Step[memstore.Tx]{Name: "bill", Provider: "carrier", Settle: shipped})
		o := d.accept("k")
		if err := d.runner.Await(t.Context(), o.Action, 2*time.Second); err != nil {
			t.Fatalf("Await: %v", err)
		}
		if rec := d.record(o); rec.State != record.Confirmed {
			t.Errorf("the record is %s", rec.State)
		}
	})
}

// TestAwaitKeepsTheOrder: what has a partition is not driven out of its turn.
func TestAwaitKeepsTheOrder(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, d *depot) {
		var order []string
		d.carrier.answer = func(_ context.Context, n int, s external.Submission) operation.Reply {
			if n == 1 { // the first one's turn stays for a while
				return operation.Reply{End: operation.NotSent}
			}
			order = append(order, string(s.Input))
			return d.carrier.send(s)
		}
		d.start()
		d.partition = "p"
		d.detached(external.Intent{Step: "ship", Partition: "p", Input: []byte("first")})
		pass(100 * time.Millisecond)
		o := d.accept("second")
		if err := d.runner.Await(t.Context(), o.Action, time.Minute); err != nil {
			t.Fatal(err)
		}
		if len(order) != 2 || order[0] != "first" {
			t.Errorf("order %v", order)
		}
	})
}

// TestDo: the value comes from the settlement, to the first caller and to repeats.
func TestDo(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, d *depot) {
		d.carrier.answer = func(_ context.Context, _ int, s external.Submission) operation.Reply {
			time.Sleep(time.Second)
			return d.carrier.send(s)
		}
		d.start()
		effects := 0
		do := func(wait time.Duration) (refrain.Done[string], error) {
			call := refrain.Call{Contract: shipments, Scope: refrain.Tenant("north"), Key: "k"}
			return external.Do[memstore.Tx, string](t.Context(), d.runner, d.db, call, wait, func(ctx context.Context, tx memstore.Tx) error {
				effects++
				_, err := d.runner.Accept(ctx, tx, external.Intent{Step: "ship"})
				return err
			})
		}
		if _, err := do(100 * time.Millisecond); !errors.Is(err, refrain.ErrInProgress) {
			t.Errorf("not in time: %v", err)
		}
		for range 2 {
			if done, err := do(2 * time.Second); err != nil || done.State != record.Confirmed || done.Value == "" {
				t.Errorf("%+v, %v", done, err)
			}
		}
		if calls, _ := d.carrier.count(); effects != 1 || calls != 1 {
			t.Errorf("%d effects, %d submissions", effects, calls)
		}
	})
}
