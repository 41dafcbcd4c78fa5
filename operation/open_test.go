package operation

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/refrain-dev/refrain/record"
)

// TestOpen: what an attempt is bound by.
func TestOpen(t *testing.T) {
	t.Parallel()
	within := accepted()
	within.Within = 10*time.Second + 7*time.Nanosecond
	begun := attempts(t, Lost)
	begun.Within = 10 * time.Second
	for _, c := range []struct {
		name            string
		o               Operation
		terms           Terms
		now             time.Time
		n               int
		first, notAfter time.Time
	}{
		{"first", accepted(), nothing, at(1), 1, at(1), at(31)},
		{"to the microsecond", accepted(), nothing, at(1).Add(999), 1, at(1), at(31)},
		{"first, soon too late", within, nothing, at(1), 1, at(1), at(10)},
		{"again, too late to begin", begun, forever, at(20), 2, at(0), at(50)},
		{"again", attempts(t, Lost), dedupes, at(20), 2, at(0), at(50)},
		{"again, near the margin", attempts(t, Lost), dedupes, at(3530), 2, at(0), at(3540)},
		{"at least once has no window", attempts(t, Lost), Terms{AtLeastOnce: true, Dedupes: true, DedupesFor: time.Hour}, at(3530), 2, at(0), at(3560)},
		{"after one that was not sent", attempts(t, NotSent), dedupes, at(3530), 2, at(3530), at(3560)},
		{"after one that was and one that was not", attempts(t, Lost, NotSent), dedupes, at(3530), 3, at(0), at(3540)},
		{"after one that was not and one that was", attempts(t, NotSent, Lost), dedupes, at(3530), 3, at(10), at(3550)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o := opened(t, c.o, c.terms, c.now)
			a := o.last()
			if a.N != c.n || a.End != Open || !a.NotAfter.Equal(c.notAfter) || !o.First.Equal(c.first) {
				t.Errorf("attempt %+v, first at %v", a, o.First)
			}
			if want := record.Micro(c.now.Add(lease)); o.State != record.Submitted || !o.Lease.Equal(want) || !o.Due.Equal(want) {
				t.Errorf("%s, lease until %v, due %v, want %v", o.State, o.Lease, o.Due, want)
			}
		})
	}
}

// TestOpenVoids: once "not found" is proof, the earlier attempts count no more
// and another window begins.
func TestOpenVoids(t *testing.T) {
	t.Parallel()
	o := attempts(t, Lost)
	o.NotFound = at(149)
	kept := opened(t, o, Terms{Dedupes: true, Queries: true, NotFoundFinalAfter: 2 * time.Minute}, at(200))
	if kept.Attempts[0].End != Lost || !kept.First.Equal(at(0)) {
		t.Errorf("too early: %+v, first at %v", kept.Attempts, kept.First)
	}
	o.NotFound = at(150)
	o.Dropped = Dropped{MayHaveLeft: 2, NotAfter: at(30)}
	before := o
	voided := opened(t, o, notFound, at(200))
	if voided.Attempts[0].End != Void || !voided.First.Equal(at(200)) || !voided.NotFound.IsZero() || voided.Dropped.MayHaveLeft != 0 {
		t.Errorf("%+v", voided)
	}
	if !reflect.DeepEqual(o, before) || o.Attempts[0].End != Lost {
		t.Error("what was there before has changed")
	}
	// The new attempt is the only one that counts.
	if rejected := voided.Close(2, refusal(402), at(201), pace); rejected.State != record.Rejected {
		t.Errorf("refused: %s", rejected.State)
	}
	if again := voided.Close(2, Reply{End: NotSent}, at(201), pace); again.State != record.Accepted {
		t.Errorf("not sent: %s", again.State)
	}
	// A provider that broke its promise is heard all the same.
	if broken := voided.Close(1, confirmation("a"), at(201), pace); broken.State != record.Confirmed || broken.Attempts[0].End != Confirmed {
		t.Errorf("confirmed: %s, %+v", broken.State, broken.Attempts)
	}
}

// TestExtend: the lease moves, the instant after which nothing leaves does not.
func TestExtend(t *testing.T) {
	t.Parallel()
	o, err := attempts(t, Lost, Open).Extend(2, at(35), lease)
	if err != nil || !o.Lease.Equal(at(65)) || !o.Due.Equal(at(65)) || !o.last().NotAfter.Equal(at(40)) {
		t.Errorf("%v: %+v", err, o)
	}
	for name, o := range map[string]Operation{
		"accepted": accepted(), "lost": attempts(t, Lost, Lost), "confirmed": attempts(t, Lost, Confirmed),
		"settled by another": attempts(t, Lost, Open).Close(1, confirmation("a"), at(20), pace),
	} {
		if _, err := o.Extend(2, at(20), lease); !errors.Is(err, record.ErrLeaseLost) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := attempts(t, Lost, Open).Extend(1, at(20), lease); !errors.Is(err, record.ErrLeaseLost) {
		t.Errorf("an earlier attempt: %v", err)
	}
}

// TestAbandon: a lease that runs out is unknown, not free.
func TestAbandon(t *testing.T) {
	t.Parallel()
	o := attempts(t, Open)
	if live := o.Abandon(at(30).Add(-time.Microsecond), pace); !reflect.DeepEqual(live, o) {
		t.Errorf("a live attempt: %+v", live)
	}
	gone := o.Abandon(at(30), pace)
	if gone.State != record.Unknown || gone.last().End != Lost || !gone.Lease.IsZero() || !gone.Due.After(at(30)) {
		t.Errorf("%+v", gone)
	}
	if again := gone.Abandon(at(99), pace); !reflect.DeepEqual(again, gone) {
		t.Errorf("again: %+v", again)
	}
}
