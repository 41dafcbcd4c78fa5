package external_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/refrain-dev/refrain/external"
	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"
)

// TestHeartbeat: an attempt that takes longer than the lease keeps it.
func TestHeartbeat(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, d *depot) {
		d.options.MaxAttempt = time.Hour
		d.carrier.answer = func(_ context.Context, _ int, s external.Submission) operation.Reply {
			d.carrier.arrive(s)
			time.Sleep(5 * time.Minute)
			return confirmed("slow")
		}
		d.start()
		d.run(d.another())
		o := d.accept("k")
		pass(4 * time.Minute)
		d.want(o.Ref, record.Submitted)
		if rec := d.record(o); !rec.Lease.After(time.Now()) {
			t.Errorf("the record's lease ended at %v, it is %v", rec.Lease, time.Now())
		}
		pass(2 * time.Minute)
		wantEnds(t, d.want(o.Ref, record.Confirmed), operation.Confirmed)
	})
}

// TestHungProviderLosesItsLease: the heartbeat does not outlive the attempt.
func TestHungProviderLosesItsLease(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, d *depot) {
		release, open := d.door()
		d.carrier.terms = operation.Terms{}
		d.carrier.answer = func(_ context.Context, _ int, s external.Submission) operation.Reply {
			d.carrier.arrive(s)
			<-release // deaf to its context
			return confirmed("at last")
		}
		d.start()
		d.run(d.another())
		o := d.accept("k")
		pass(5 * time.Minute)
		d.want(o.Ref, record.Unknown)
		open()
		pass(time.Second)
		wantEnds(t, d.want(o.Ref, record.Confirmed), operation.Confirmed)
	})
}

// paused is a worker that is stopped before its first byte: its store is deaf, and
// the provider does not go on before resume.
func paused(t *testing.T, d *depot, gate *error) (o operation.Operation, resume func()) {
	t.Helper()
	going, open := d.door()
	d.carrier.answer = func(_ context.Context, n int, s external.Submission) operation.Reply {
		if n > 1 {
			return d.carrier.send(s)
		}
		<-going
		*gate = s.Gate()
		return d.carrier.send(s)
	}
	d.start()
	o = d.accept("k")
	pass(50 * time.Millisecond)
	d.want(o.Ref, record.Submitted)
	d.store.set(func() error { return errDown }, nil)
	return o, func() {
		d.store.set(nil, nil)
		open()
		pass(time.Second)
	}
}

func TestPausedWorkerSendsNothing(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, d *depot) {
		var gate error
		o, resume := paused(t, d, &gate)
		d.run(d.anotherOn(d.db.Operations()))
		pass(40 * time.Second)
		wantEnds(t, d.want(o.Ref, record.Confirmed), operation.Lost, operation.Confirmed)
		resume()
		if gate == nil {
			t.Error("the gate let a worker through whose lease was over")
		}
		if calls, _ := d.carrier.count(); calls != 1 {
			t.Errorf("%d submissions left", calls)
		}
		wantEnds(t, d.want(o.Ref, record.Confirmed), operation.NotSent, operation.Confirmed)
		if d.seen.count(external.LeaseLost) == 0 {
			t.Errorf("nobody was told of the lost lease:\n%s", d.seen)
		}
	})
}

// TestGateAfterLoss: a lease that was lost before its end shuts the gate, and gives
// up what has not passed it.
func TestGateAfterLoss(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, d *depot) {
		var gate, cause error
		d.carrier.answer = func(ctx context.Context, n int, s external.Submission) operation.Reply {
			if n > 1 {
				return d.carrier.send(s)
			}
			time.Sleep(15 * time.Second)
			gate, cause = s.Gate(), context.Cause(ctx)
			return operation.Reply{End: operation.NotSent}
		}
		d.start()
		o := d.accept("k")
		pass(time.Second)
		if err := d.db.Operations().Change(t.Context(), o.Ref, closing(1, lost)); err != nil {
			t.Fatal(err)
		}
		pass(15 * time.Second)
		if !errors.Is(gate, record.ErrLeaseLost) || !errors.Is(cause, record.ErrLeaseLost) {
			t.Errorf("the gate says %v, the attempt's context ended by %v", gate, cause)
		}
	})
}

// TestHeardAfterLoss: a lease that is lost behind the gate lets nothing more leave,
// and the answer to what has left is heard. If it tells of a second effect, that is
// disputed.
func TestHeardAfterLoss(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, d *depot) {
		answers, open := d.door()
		var given, gate error
		d.carrier.answer = func(ctx context.Context, n int, s external.Submission) operation.Reply {
			d.carrier.arrive(s)
			if n > 1 {
				return confirmed("second")
			}
			<-answers
			given, gate = ctx.Err(), s.Gate()
			return confirmed("first")
		}
		d.start()
		o := d.accept("k")
		pass(time.Second)
		d.store.set(func() error { return errDown }, nil)
		d.run(d.anotherOn(d.db.Operations()))
		pass(40 * time.Second)
		wantEnds(t, d.want(o.Ref, record.Confirmed), operation.Lost, operation.Confirmed)
		d.store.set(nil, nil)
		open()
		pass(time.Second)
		if given != nil || !errors.Is(gate, record.ErrLeaseLost) {
			t.Errorf("the exchange was given up by %v, the gate says %v", given, gate)
		}
		o = d.want(o.Ref, record.Confirmed)
		if len(o.Evidence) != 1 || o.Evidence[0].Reference != "first" || !o.Disputed || !d.record(o).Disputed {
			t.Errorf("disputed %t, evidence %+v", o.Disputed, o.Evidence)
		}
	})
}

// TestHeardWithinBounds: what is heard after its lease is lost still ends with
// MaxAttempt and with Grace.
func TestHeardWithinBounds(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		stops bool
		want  error
	}{"MaxAttempt": {false, context.DeadlineExceeded}, "Grace": {true, external.ErrStopped}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, d *depot) {
				var cause error
				var heard time.Duration
				d.carrier.terms = operation.Terms{}
				d.carrier.answer = func(ctx context.Context, _ int, s external.Submission) operation.Reply {
					d.carrier.arrive(s)
					begun := time.Now()
					<-ctx.Done()
					cause, heard = context.Cause(ctx), time.Since(begun)
					return lost
				}
				stop := d.start()
				o := d.accept("k")
				pass(time.Second)
				if err := d.db.Operations().Change(t.Context(), o.Ref, closing(1, lost)); err != nil {
					t.Fatal(err)
				}
				pass(20 * time.Second) // the heartbeat has noticed
				bound := time.Minute
				if tt.stops {
					bound = 31 * time.Second
					if err := stop(); err != nil {
						t.Error(err)
					}
				}
				pass(time.Hour)
				if !errors.Is(cause, tt.want) || heard.Round(time.Second) != bound {
					t.Errorf("ended by %v after %v, want %v after %v", cause, heard, tt.want, bound)
				}
			})
		})
	}
}

// TestWrongClocks: only what has passed since the attempt was opened counts, and
// not the difference between the store's clock and ours.
func TestWrongClocks(t *testing.T) {
	t.Parallel()
	for _, wrong := range []time.Duration{10 * time.Minute, -10 * time.Minute} {
		t.Run(wrong.String(), func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, d *depot) {
				d.wrong = wrong
				d.start()
				o := d.accept("k")
				pass(time.Second)
				wantEnds(t, d.want(o.Ref, record.Confirmed), operation.Confirmed)
			})
			bubble(t, func(t *testing.T, d *depot) {
				d.wrong = wrong
				var gate error
				_, resume := paused(t, d, &gate)
				pass(31 * time.Second) // beyond the lease, and nobody else has noticed
				resume()
				if gate == nil {
					t.Error("the gate let a worker through whose lease was over")
				}
			})
		})
	}
}

// TestNotAfter: a kept lease is no leave to send when the provider's window is
// over.
func TestNotAfter(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, d *depot) {
		d.carrier.terms = operation.Terms{Dedupes: true, DedupesFor: 20 * time.Second, Margin: 10 * time.Second}
		var early, late error
		d.carrier.answer = func(_ context.Context, _ int, s external.Submission) operation.Reply {
			early = s.Gate()
			time.Sleep(10 * time.Second)
			late = s.Gate()
			return lost
		}
		d.start()
		o := d.accept("k")
		pass(15 * time.Second)
		if early != nil || !errors.Is(late, operation.ErrTooLate) {
			t.Errorf("the gate says %v, and at NotAfter %v", early, late)
		}
		o = d.load(o.Ref)
		if a := o.Attempts[0]; a.NotAfter.Sub(a.Opened) != 10*time.Second {
			t.Errorf("NotAfter is %v after the opening", a.NotAfter.Sub(a.Opened))
		}
	})
}

// TestLateAnswer: an answer that comes after somebody found the lease past still
// settles.
func TestLateAnswer(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, d *depot) {
		d.carrier.terms = operation.Terms{}
		arrived, open := d.door()
		d.carrier.answer = func(_ context.Context, _ int, s external.Submission) operation.Reply {
			d.carrier.arrive(s)
			<-arrived
			return confirmed("late")
		}
		d.start()
		o := d.accept("k")
		pass(50 * time.Millisecond)
		d.store.set(func() error { return errDown }, nil)
		d.run(d.anotherOn(d.db.Operations()))
		pass(40 * time.Second)
		d.want(o.Ref, record.Unknown)
		open()
		pass(time.Minute)
		d.want(o.Ref, record.Unknown) // the database is still gone for it
		d.store.set(nil, nil)
		pass(15 * time.Second)
		wantEnds(t, d.want(o.Ref, record.Confirmed), operation.Confirmed)
	})
}

// TestDeadProcess: what a process that never comes back had begun is unknown, not
// free.
func TestDeadProcess(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, d *depot) {
		d.carrier.terms = operation.Terms{}
		d.runner = d.another()
		o := d.accept("k")
		_, _, err := d.store.Store.Take(t.Context(), "carrier", 1, func(seen operation.Seen) operation.Edit {
			opened, err := seen.Operation.Open(d.carrier.terms, seen.Now, 30*time.Second)
			if err != nil {
				t.Error(err)
			}
			return operation.Edit{Put: &opened}
		})
		if err != nil {
			t.Fatal(err)
		}
		d.start()
		pass(time.Hour)
		d.want(o.Ref, record.Unknown)
		if calls, _ := d.carrier.count(); calls != 0 {
			t.Errorf("%d submissions after one that may have left", calls)
		}
	})
}
