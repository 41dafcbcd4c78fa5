package operation

import (
	"errors"
	"testing"
	"time"

	"github.com/refrain-dev/refrain/record"
)

// TestDoubt: what was there when something was lost is unknown from then on, once.
func TestDoubt(t *testing.T) {
	t.Parallel()
	lost, now := at(3600), at(7200)
	asked := attempts(t, Lost)
	asked.NotFound = at(300)
	for name, c := range map[string]struct {
		o     Operation
		terms Terms
		first time.Time
		safe  error
		next  Move
	}{
		"nothing promised":             {accepted(), nothing, epoch, ErrNotRepeatable, Leave},
		"inside the window":            {accepted(), Terms{Dedupes: true, DedupesFor: 24 * time.Hour}, epoch, nil, Submit},
		"past the window":              {accepted(), dedupes, epoch, ErrWindowOver, Leave},
		"at least once":                {accepted(), atLeast, epoch, nil, Submit},
		"can be asked":                 {accepted(), queries, epoch, ErrNotRepeatable, Ask},
		"was asked before":             {asked, notFound, at(0), ErrNotRepeatable, Ask},
		"provably nothing sent before": {attempts(t, NotSent), dedupes, epoch, ErrWindowOver, Leave},
		"begun before":                 {attempts(t, NotSent, Lost), forever, at(10), nil, Submit},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.o.Doubtful(time.Time{}) || c.o.Doubtful(epoch.Add(-1)) {
				t.Error("doubtful without a loss, or with one before it was there")
			}
			o := c.o.Doubt(lost, now)
			if o.State != record.Unknown || !o.Due.Equal(now) || o.Why == "" || !o.First.Equal(c.first) || !o.NotFound.IsZero() {
				t.Errorf("%+v", o)
			}
			if err := o.Safe(c.terms, now); !errors.Is(err, c.safe) || c.safe == nil && err != nil {
				t.Errorf("Safe: %v, want %v", err, c.safe)
			}
			if next := o.Next(c.terms, now); next != c.next {
				t.Errorf("next is %d, want %d", next, c.next)
			}
			if o.Doubtful(lost) || o.Doubt(lost, now).Dropped != o.Dropped || !o.Doubtful(lost.Add(1)) {
				t.Error("the same loss is counted twice, or a later one not at all")
			}
		})
	}
}

// TestDoubtLeavesAlone what is settled, under way, or came later.
func TestDoubtLeavesAlone(t *testing.T) {
	t.Parallel()
	settled := attempts(t, Lost).settle(record.Confirmed, confirmation("ch_1"))
	for name, o := range map[string]Operation{"settled": settled, "under way": attempts(t, Open)} {
		if o.Doubtful(at(3600)) || o.Doubt(at(3600), at(7200)).State != o.State {
			t.Errorf("%s: %+v", name, o)
		}
	}
}

// TestDoubtIsOvercome: a refusal of a repeat proves nothing about what was lost, and
// "not found" asked late enough does.
func TestDoubtIsOvercome(t *testing.T) {
	t.Parallel()
	lost, now := at(3600), at(7200)
	o := opened(t, accepted().Doubt(lost, now), Terms{Dedupes: true, DedupesFor: 24 * time.Hour}, now)
	if o = o.Close(1, Reply{End: Refused}, at(7205), pace); o.State.Final() {
		t.Errorf("a refused repeat: %+v", o)
	}
	o = accepted().Doubt(lost, now).Asked(notFound, Finding{}, now, now, pace)
	again := opened(t, o, notFound, o.Due)
	if !again.First.Equal(o.Due) || again.Close(1, Reply{End: Lost}, at(7250), pace).Doubtful(lost) {
		t.Errorf("after not found: %+v", again)
	}
	if again = again.Close(1, Reply{End: Refused}, at(7300), pace); again.State != record.Rejected {
		t.Errorf("a refusal when nothing can have left: %+v", again)
	}
}
