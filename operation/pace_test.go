package operation

import (
	"strings"
	"testing"
	"time"

	"github.com/refrain-dev/refrain/record"
)

// TestPace: looks get rarer, never rarer than Most, and never sooner than asked.
func TestPace(t *testing.T) {
	t.Parallel()
	o := attempts(t, Lost)
	for _, p := range []Pace{{}, {First: time.Minute, Most: 10 * time.Minute}, {First: -1, Most: -1}} {
		first, most := p.First, p.Most
		if first <= 0 {
			first, most = time.Second, time.Hour
		}
		o.Tries = 0
		for i := range 40 {
			o = o.Unanswered("timeout", at(6), p)
			step := min(first<<min(i, 20), most)
			if d := o.Due.Sub(at(6)); d < step/2 || d > step || o.Tries != i+1 {
				t.Fatalf("%+v, look %d: again in %v, want %v", p, i, d, step)
			}
		}
	}
	if o = o.wait(at(6), 2*time.Hour, Pace{}); !o.Due.Equal(at(6).Add(2 * time.Hour)) {
		t.Errorf("asked for two hours: due %v", o.Due)
	}
}

// TestBudget parks: a person is asked, and nothing else changes.
func TestBudget(t *testing.T) {
	t.Parallel()
	p := Pace{First: time.Second, Most: time.Second, Budget: 3}
	o := attempts(t, Lost) // the first look that brought nothing
	o = o.Unanswered("timeout", at(10), p)
	if o.Due.IsZero() {
		t.Fatal("parked too soon")
	}
	o = o.Unanswered("timeout", at(20), p)
	if !o.Due.IsZero() || o.State != record.Unknown || !strings.HasPrefix(o.Why, "parked") || o.Next(anything, at(999)) != Rest {
		t.Fatalf("%+v", o)
	}
	o, err := o.Resume(anything, at(30))
	if err != nil || o.Tries != 0 || o.Next(anything, at(30)) != Ask {
		t.Errorf("%v: %+v", err, o)
	}
}

// TestDueInTimeToExpire: what was not begun expires when its time is over, not
// at the next look after it.
func TestDueInTimeToExpire(t *testing.T) {
	t.Parallel()
	o := attempts(t, Open)
	o.Within = 40 * time.Second
	slow := Pace{First: time.Hour, Most: time.Hour}
	if unsent := o.Close(1, Reply{End: NotSent}, at(6), slow); !unsent.Due.Equal(at(40)) {
		t.Errorf("not sent: due %v", unsent.Due)
	}
	if lost := o.Close(1, Reply{End: Lost}, at(6), slow); !lost.Due.After(at(40)) {
		t.Errorf("lost: due %v", lost.Due)
	}
}

// TestYield: behind another of its partition it looks again when that one is
// due, at once never.
func TestYield(t *testing.T) {
	t.Parallel()
	within := accepted()
	within.Within = 40 * time.Second
	lost := attempts(t, Lost)
	lost.Within = 5 * time.Second
	for _, c := range []struct {
		name   string
		o      Operation
		behind time.Time
		want   time.Time
	}{
		{"behind one that is due", accepted(), at(3), at(11)},
		{"behind one that waits", accepted(), at(99), at(99)},
		{"in time to expire", within, at(99), at(40)},
		{"what was begun does not expire", lost, at(99), at(99)},
	} {
		o := c.o.Yield(c.behind, at(10), pace)
		if !o.Due.Equal(c.want) || o.State != c.o.State || o.Tries != c.o.Tries {
			t.Errorf("%s: due %v, want %v", c.name, o.Due, c.want)
		}
	}
}
