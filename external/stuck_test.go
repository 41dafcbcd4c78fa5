package external_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/refrain-dev/refrain/external"
	"github.com/refrain-dev/refrain/memstore"
	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"
)

// TestUnsettledDoesNotStopItsProvider: what Settle always fails for takes one
// place of its provider, however often it comes due again.
func TestUnsettledDoesNotStopItsProvider(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, d *depot) {
		d.options.Concurrency = 1
		d.step.Within = time.Minute
		settle := d.step.Settle
		d.step.Settle = func(ctx context.Context, tx memstore.Tx, s external.Settled) (record.Result, error) {
			if !s.Confirmed {
				return record.Result{}, errors.New("nobody thought of this")
			}
			return settle(ctx, tx, s)
		}
		d.runner = d.another()
		expired := d.accept("expired")
		pass(2 * time.Minute)
		d.start()
		pass(time.Hour)
		o := d.accept("k")
		pass(time.Minute)
		d.want(o.Ref, record.Confirmed)
		d.want(expired.Ref, record.Accepted)
	})
}

// TestUnknownStepIsTold: an operation that no runner here can carry out waits for
// one that can, and somebody is told.
func TestUnknownStepIsTold(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, d *depot) {
		d.runner = d.another()
		d.accept("k")
		d.step.Name = "deliver"
		d.start()
		pass(time.Minute)
		d.seen.mu.Lock()
		defer d.seen.mu.Unlock()
		for _, e := range d.seen.events {
			if e.Kind == external.Failed && e.Step == "ship" && errors.Is(e.Err, external.ErrNoStep) {
				return
			}
		}
		t.Error("nobody was told")
	})
}

// TestCasesAmongThoseThatWait: older operations that only wait do not hide a
// parked one.
func TestCasesAmongThoseThatWait(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, d *depot) {
		d.runner = d.another()
		for i := range 3 {
			d.accept(fmt.Sprint("k", i))
		}
		o := d.accept("parked")
		err := d.store.Change(t.Context(), o.Ref, func(_ context.Context, _ memstore.Tx, seen operation.Seen) (operation.Edit, error) {
			seen.Operation.Due = time.Time{}
			return operation.Edit{Put: &seen.Operation}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if cases, err := d.runner.Cases(t.Context(), 2); err != nil || len(cases) != 1 || cases[0].Operation.Ref != o.Ref {
			t.Errorf("%+v, %v", cases, err)
		}
	})
}

// TestConfirmedAfterTheRecordWasRejected: a person has rejected the record while
// the attempt was under way. Whoever comes first, its answer or the runner's look,
// the contradiction is disputed and not the end of it.
func TestConfirmedAfterTheRecordWasRejected(t *testing.T) {
	t.Parallel()
	for _, asked := range []bool{false, true} {
		bubble(t, func(t *testing.T, d *depot) {
			d.carrier.terms = operation.Terms{Queries: true}
			var ref string
			decide := func() {
				err := d.store.Store.Change(context.Background(), ref, func(_ context.Context, _ memstore.Tx, seen operation.Seen) (operation.Edit, error) {
					rec := *seen.Record
					rec.Settle(record.Result{Rejected: true}, seen.Now, record.Policy{ReplayFor: time.Hour, RememberFor: time.Hour})
					rec.Lease = time.Time{}
					return operation.Edit{Record: &rec}, nil
				})
				if err != nil {
					t.Error(err)
				}
			}
			d.carrier.from(func(_ context.Context, _ int, s external.Submission) operation.Reply {
				ref = s.Ref
				if d.carrier.arrive(s); asked {
					return lost
				}
				decide()
				return confirmed("track-1")
			}, func(context.Context, int) (operation.Finding, error) {
				decide()
				return operation.Finding{Found: true, Reply: confirmed("track-1")}, nil
			})
			d.start()
			o := d.accept("k")
			pass(time.Minute)
			o = d.want(o.Ref, record.Rejected)
			if rec := d.record(o); !o.Disputed || !rec.Disputed || d.seen.count(external.Disputed) != 1 {
				t.Errorf("asked %t: operation disputed %t, record %t:\n%s", asked, o.Disputed, rec.Disputed, d.seen)
			}
		})
	}
}

// TestPanicOfAQuestion: its text may say anything, so it is told and not kept.
func TestPanicOfAQuestion(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, d *depot) {
		d.carrier.terms = operation.Terms{Queries: true}
		unanswered(d)
		d.carrier.query = func(context.Context, int) (operation.Finding, error) { panic("the card number") }
		d.start()
		o := d.accept("k")
		pass(time.Minute)
		if o = d.want(o.Ref, record.Unknown); strings.Contains(o.Why, "card") || d.seen.count(external.Panicked) == 0 {
			t.Errorf("%q, %d panics told", o.Why, d.seen.count(external.Panicked))
		}
	})
}
