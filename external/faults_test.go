package external_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/refrain-dev/refrain/external"
	"github.com/refrain-dev/refrain/memstore"
	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"
)

// TestReplyIsNotLost: while the runner lives it keeps what the provider said and
// the lease, and writes it when the database is back.
func TestReplyIsNotLost(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, d *depot) {
		d.carrier.terms = operation.Terms{}
		d.carrier.answer = func(_ context.Context, _ int, s external.Submission) operation.Reply {
			reply := d.carrier.send(s)
			d.store.set(func() error { return errDown }, nil)
			return reply
		}
		d.start()
		o := d.accept("k")
		pass(time.Hour)
		d.want(o.Ref, record.Submitted)
		d.store.set(nil, nil)
		pass(15 * time.Second)
		o = d.want(o.Ref, record.Confirmed)
		if calls, _ := d.carrier.count(); calls != 1 || d.seen.count(external.Failed) < 3 {
			t.Errorf("%d calls, %d failures told", calls, d.seen.count(external.Failed))
		}
	})
}

// TestLostCommitAnswer: a settlement that happened although its COMMIT failed is
// not written twice.
func TestLostCommitAnswer(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, d *depot) {
		settles := 0
		settle := d.step.Settle
		d.step.Settle = func(ctx context.Context, tx memstore.Tx, s external.Settled) (record.Result, error) {
			settles++
			return settle(ctx, tx, s)
		}
		fails := 3
		d.carrier.answer = func(_ context.Context, _ int, s external.Submission) operation.Reply {
			d.store.set(nil, func() error {
				if fails--; fails >= 0 {
					return errDown
				}
				return nil
			})
			return d.carrier.send(s)
		}
		d.start()
		o := d.accept("k")
		pass(10 * time.Second)
		o = d.want(o.Ref, record.Confirmed)
		if settles != 1 || o.Version != 3 || len(o.Evidence) != 0 {
			t.Errorf("settled %d times, version %d, evidence %v", settles, o.Version, o.Evidence)
		}
	})
}

// TestSettleFails: the lease is kept while the callback fails, so nobody submits
// again, and the operation says why it stands.
func TestSettleFails(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"error", "not found", "panic", "exit"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, d *depot) {
				var mended atomic.Bool
				d.step.Settle = func(ctx context.Context, tx memstore.Tx, s external.Settled) (record.Result, error) {
					switch {
					case mended.Load():
						return shipped(ctx, tx, s)
					case how == "panic":
						panic("no table")
					case how == "exit":
						runtime.Goexit()
					case how == "not found": // by its own lookup
						return record.Result{}, record.ErrNotFound
					}
					return record.Result{}, errors.New("no table")
				}
				d.start()
				d.run(d.another())
				o := d.accept("k")
				pass(10 * time.Minute)
				if o = d.want(o.Ref, record.Submitted); o.Why == "" {
					t.Error("the operation does not say why it stands")
				}
				mended.Store(true)
				pass(15 * time.Second)
				wantEnds(t, d.want(o.Ref, record.Confirmed), operation.Confirmed)
				if calls, _ := d.carrier.count(); calls != 1 {
					t.Errorf("%d calls", calls)
				}
			})
		})
	}
}

// TestBrokenSettleLeavesTheLaneOpen: replies that cannot be written take no place
// at the provider, and only so many are held.
func TestBrokenSettleLeavesTheLaneOpen(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, d *depot) {
		d.options.Concurrency = 2
		d.step.Settle = func(ctx context.Context, tx memstore.Tx, s external.Settled) (record.Result, error) {
			if string(s.Operation.Input) != "parcel good" {
				return record.Result{}, errors.New("no table")
			}
			return shipped(ctx, tx, s)
		}
		d.start()
		for i := range 5 {
			d.accept(fmt.Sprint("bad", i))
		}
		o := d.accept("good")
		pass(10 * time.Second)
		d.want(o.Ref, record.Confirmed)
		for i := range 20 {
			d.accept(fmt.Sprint("worse", i))
		}
		pass(time.Minute)
		if calls, _ := d.carrier.count(); calls != 1+8 {
			t.Errorf("%d submissions, want the good one and eight that are held", calls)
		}
	})
}

func TestProviderPanics(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, d *depot) {
		d.carrier.answer = func(_ context.Context, n int, s external.Submission) operation.Reply {
			switch n {
			case 1:
				d.carrier.arrive(s)
				panic("nil map")
			case 2:
				return operation.Reply{} // no End
			}
			return d.carrier.send(s)
		}
		d.start()
		o := d.accept("k")
		pass(time.Minute)
		wantEnds(t, d.want(o.Ref, record.Confirmed), operation.Lost, operation.Lost, operation.Confirmed)
		if d.seen.count(external.Panicked) != 1 {
			t.Errorf("the panic was not told:\n%s", d.seen)
		}
	})
}

func TestStopWithinGrace(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, d *depot) {
		d.carrier.answer = func(_ context.Context, _ int, s external.Submission) operation.Reply {
			time.Sleep(5 * time.Second)
			return d.carrier.send(s)
		}
		stop := d.start()
		first := d.accept("first")
		pass(time.Second)
		began := time.Now()
		stopped := make(chan error)
		go func() { stopped <- stop() }()
		pass(time.Millisecond)
		second := d.accept("second")
		if err := <-stopped; err != nil || time.Since(began) > 5*time.Second {
			t.Errorf("Run returned %v after %v", err, time.Since(began))
		}
		d.want(first.Ref, record.Confirmed)
		d.want(second.Ref, record.Accepted)
	})
}

func TestStopBeyondGrace(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, d *depot) {
		d.carrier.answer = func(ctx context.Context, _ int, s external.Submission) operation.Reply {
			d.carrier.arrive(s)
			<-ctx.Done()
			if !errors.Is(context.Cause(ctx), external.ErrStopped) {
				t.Errorf("the attempt ended by %v", context.Cause(ctx))
			}
			return lost
		}
		stop := d.start()
		o := d.accept("k")
		pass(time.Second)
		began := time.Now()
		if err := stop(); err != nil || time.Since(began) != 10*time.Second {
			t.Errorf("Run returned %v after %v, want nil after 10 s", err, time.Since(began))
		}
		wantEnds(t, d.want(o.Ref, record.Unknown), operation.Lost)
	})
}

// TestStopWithoutDatabase: Run ends all the same, and says that something is left.
func TestStopWithoutDatabase(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, d *depot) {
		d.carrier.answer = func(_ context.Context, _ int, s external.Submission) operation.Reply {
			d.store.set(func() error { return errDown }, nil)
			return d.carrier.send(s)
		}
		stop := d.start()
		o := d.accept("k")
		pass(time.Second)
		began := time.Now()
		if err := stop(); err == nil || time.Since(began) > 20*time.Second {
			t.Errorf("Run returned %v after %v", err, time.Since(began))
		}
		d.want(o.Ref, record.Submitted)
	})
}

func TestBreaker(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, d *depot) {
		d.options.Concurrency, d.options.BreakAfter, d.options.BreakFor = 1, 3, time.Minute
		d.step.Pace = operation.Pace{First: time.Hour}
		d.carrier.terms.Queries = true
		var up atomic.Bool
		d.carrier.answer = func(_ context.Context, _ int, s external.Submission) operation.Reply {
			if !up.Load() {
				d.carrier.arrive(s)
				return lost
			}
			return d.carrier.send(s)
		}
		d.start()
		var refs []string
		for i := range 6 {
			refs = append(refs, d.accept(fmt.Sprint("k", i)).Ref)
		}
		pass(50 * time.Second)
		if calls, _ := d.carrier.count(); calls != 3 || d.seen.count(external.BreakerOpened) != 1 {
			t.Fatalf("%d submissions before the breaker opened:\n%s", calls, d.seen)
		}
		// Asking goes on: an unknown one is settled while the breaker is open.
		d.carrier.from(d.carrier.answer, func(context.Context, int) (operation.Finding, error) {
			return operation.Finding{Found: true, Reply: confirmed("found")}, nil
		})
		if err := d.runner.Resume(t.Context(), external.By{Who: "ops", Why: "test"}, refs[0]); err != nil {
			t.Fatal(err)
		}
		pass(2 * time.Second)
		d.want(refs[0], record.Confirmed)
		pass(20 * time.Second) // half-open: one trial, which fails
		if calls, _ := d.carrier.count(); calls != 4 || d.seen.count(external.BreakerOpened) != 1 {
			t.Fatalf("%d submissions after one trial:\n%s", calls, d.seen)
		}
		up.Store(true)
		pass(3 * time.Minute)
		d.want(refs[4], record.Confirmed)
		d.want(refs[5], record.Confirmed)
		if d.seen.count(external.BreakerClosed) != 1 {
			t.Errorf("the breaker did not close:\n%s", d.seen)
		}
	})
}
