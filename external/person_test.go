package external_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/external"
	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"
)

var ops = external.By{Who: "ops", Why: "asked the carrier by phone"}

func TestDecide(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, d *depot) {
		d.carrier.terms = operation.Terms{}
		unanswered(d)
		d.start()
		o := d.accept("k")
		pass(time.Minute)
		d.want(o.Ref, record.Unknown)
		for _, by := range []external.By{{}, {Who: "ops"}, {Why: "because"}} {
			if err := d.runner.Decide(t.Context(), by, o.Ref, confirmed("")); err == nil {
				t.Errorf("decided by %+v", by)
			}
		}
		if err := d.runner.Decide(t.Context(), ops, o.Ref, lost); err == nil {
			t.Error("decided that it is lost")
		}
		if err := d.runner.Decide(t.Context(), ops, o.Ref, confirmed("by phone")); err != nil {
			t.Fatal(err)
		}
		d.want(o.Ref, record.Confirmed)
		if again, err := d.ship("k"); err != nil || again.Value != "shipped by phone" {
			t.Errorf("repeat: %+v, %v", again, err)
		}
		lines := d.db.Audits()
		if len(lines) != 1 || lines[0].By != ops.Who || lines[0].Reason != ops.Why || lines[0].Action != "decide" ||
			!strings.Contains(lines[0].Detail, "unknown to confirmed") {
			t.Errorf("audit %+v", lines)
		}
		if err := d.runner.Decide(t.Context(), ops, o.Ref, confirmed("again")); err == nil {
			t.Error("decided twice")
		}
	})
}

func TestWithdraw(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, d *depot) {
		d.runner = d.another()
		o := d.accept("k")
		if err := d.runner.Withdraw(t.Context(), ops, o.Ref); err != nil {
			t.Fatal(err)
		}
		d.want(o.Ref, record.Rejected)
		d.start()
		pass(time.Minute)
		if calls, _ := d.carrier.count(); calls != 0 {
			t.Errorf("%d submissions of a withdrawn operation", calls)
		}
		if lines := d.db.Audits(); len(lines) != 1 || lines[0].Action != "withdraw" {
			t.Errorf("audit %+v", lines)
		}
		if err := d.runner.Withdraw(t.Context(), ops, "op_unknown"); !errors.Is(err, record.ErrNotFound) {
			t.Errorf("an unknown ref: %v", err)
		}
	})
}

// TestAdopt: what a person decides about the record ends the operation; it is not
// submitted any more, and its answer stands.
func TestAdopt(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, d *depot) {
		d.carrier.terms = operation.Terms{}
		unanswered(d)
		d.step.Pace.First = time.Minute
		d.start()
		o := d.accept("k")
		pass(time.Second)
		rec := d.record(o)
		policy := shipments.Policy()
		err := d.db.Change(t.Context(), rec.Identity, func(seen record.Seen, now time.Time) (record.Edit, error) {
			return record.Resolve(seen, now, record.Result{Effect: "by hand", Body: []byte(`"by hand"`)}, policy, "ops", "saw it")
		})
		if err != nil {
			t.Fatal(err)
		}
		pass(2 * time.Minute)
		o = d.want(o.Ref, record.Confirmed)
		if o.Answer.Reference != "by hand" {
			t.Errorf("answer %+v", o.Answer)
		}
		if again, err := d.ship("k"); err != nil || again.Value != "by hand" {
			t.Errorf("repeat: %+v, %v", again, err)
		}
		if word, _ := d.db.Get("shipments", o.Action); string(word) != "shipped" {
			t.Errorf("the business row says %q", word)
		}
	})
}

// TestCorrectionSettlesTheOther: a person's word on a rejected operation that was
// confirmed after all.
func TestCorrectionSettlesTheOther(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, d *depot) {
		d.carrier.terms = operation.Terms{}
		unanswered(d)
		d.start()
		o := d.accept("k")
		pass(time.Minute)
		if err := d.runner.Decide(t.Context(), ops, o.Ref, operation.Reply{End: operation.Refused}); err != nil {
			t.Fatal(err)
		}
		before := d.record(o)
		err := d.db.Operations().Change(t.Context(), o.Ref, closing(1, confirmed("after all")))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.ship("k"); !errors.Is(err, refrain.ErrOutcomeDisputed) {
			t.Errorf("a repeat meanwhile: %v", err)
		}
		pass(time.Hour)
		if err := d.runner.Decide(t.Context(), ops, o.Ref, confirmed("after all")); err != nil {
			t.Fatal(err)
		}
		d.want(o.Ref, record.Confirmed)
		after := d.record(o)
		if !after.RememberUntil.After(before.RememberUntil) || after.Disputed ||
			!slices.ContainsFunc(after.Evidence, func(e record.Result) bool { return e.Rejected }) {
			t.Errorf("record %+v", after)
		}
	})
}
