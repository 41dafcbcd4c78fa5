package operation

import (
	"testing"
	"time"

	"github.com/refrain-dev/refrain/record"
)

// TestNext: what a machine may do, in every state.
func TestNext(t *testing.T) {
	t.Parallel()
	lost := attempts(t, Lost) // due at 6
	with := func(o Operation, change func(o *Operation)) Operation {
		change(&o)
		return o
	}
	parked := func(o *Operation) { o.Due = time.Time{} }
	asked := func(o *Operation) { o.NotFound = at(6) }
	within := func(o *Operation) { o.Within = 10 * time.Second }
	for _, c := range []struct {
		name  string
		o     Operation
		terms Terms
		now   time.Time
		want  Move
	}{
		{"accepted", accepted(), nothing, at(0), Submit},
		{"not due", accepted(), nothing, at(-1), Rest},
		{"parked", with(accepted(), parked), nothing, at(0), Rest},
		{"accepted in its time", with(accepted(), within), nothing, at(9), Submit},
		{"accepted too late", with(accepted(), within), nothing, at(10), Expire},
		{"parked too late", with(with(accepted(), within), parked), nothing, at(10), Expire},
		{"not sent, too late", with(attempts(t, NotSent), within), nothing, at(10), Expire},
		{"lost, too late to begin", with(lost, within), dedupes, at(10), Submit},
		{"under way", attempts(t, Open), forever, at(29), Rest},
		{"its lease past", attempts(t, Open), nothing, at(30), Abandon},
		{"lost, not due", lost, forever, at(5), Rest},
		{"lost, parked", with(lost, parked), forever, at(99), Rest},
		{"lost, nothing promised", lost, nothing, at(6), Leave},
		{"lost, in the window", lost, dedupes, at(6), Submit},
		{"lost, past the window", lost, dedupes, at(3540), Leave},
		{"lost, at least once", lost, atLeast, at(6), Submit},
		{"ask first", lost, queries, at(6), Ask},
		{"ask first, also in the window", lost, Terms{Dedupes: true, Queries: true}, at(6), Ask},
		{"ask first, also at least once", lost, anything, at(6), Ask},
		{"not found, in the window", with(lost, asked), Terms{Dedupes: true, Queries: true}, at(7), Submit},
		{"not found, nothing else promised", with(lost, asked), queries, at(7), Ask},
		{"not found, too early", with(lost, asked), notFound, at(7), Ask},
		{"not found, late enough", with(lost, func(o *Operation) { o.NotFound = at(150) }), notFound, at(151), Submit},
		{"confirmed", attempts(t, Confirmed), forever, at(99), Rest},
		{"rejected", attempts(t, Refused), forever, at(99), Rest},
		{"disputed", attempts(t, Refused).Close(1, confirmation("a"), at(9), pace), forever, at(99), Rest},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := c.o.Next(c.terms, c.now); got != c.want {
				t.Errorf("Next is %d, want %d", got, c.want)
			}
		})
	}
}

// TestNothingEndsByAge: whatever is promised, an unknown operation stays unknown
// however late it is and however often nothing was heard.
func TestNothingEndsByAge(t *testing.T) {
	t.Parallel()
	for _, terms := range []Terms{nothing, dedupes, forever, queries, notFound, atLeast} {
		o := attempts(t, Lost)
		now := at(10)
		for range 100 {
			now = now.Add(24 * time.Hour)
			switch o.Next(terms, now) {
			case Submit:
				o = opened(t, o, terms, now)
			case Abandon:
				o = o.Abandon(now, pace)
			case Ask:
				o = o.Unanswered("timeout", now, pace)
			case Leave:
				o = o.Leave(o.Safe(terms, now))
			case Rest, Expire:
			}
			if o.State.Final() || o.State == record.Accepted {
				t.Fatalf("%+v: %s after %v", terms, o.State, now.Sub(epoch))
			}
		}
	}
}
