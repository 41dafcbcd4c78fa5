package operation

import (
	"reflect"
	"testing"
	"time"

	"github.com/refrain-dev/refrain/record"
)

// TestAsked: what an answer about the key means, by how old its question is.
func TestAsked(t *testing.T) {
	t.Parallel()
	both := Terms{Dedupes: true, Queries: true}
	found := func(r Reply) Finding { return Finding{Found: true, Reply: r} }
	stored := refusal(402)
	stored.Stored = true
	lost := attempts(t, Lost)        // until 5
	again := attempts(t, Lost, Lost) // until 15
	for _, c := range []struct {
		name     string
		o        Operation
		terms    Terms
		f        Finding
		asked    time.Time
		want     record.State
		next     Move // at second 99
		evidence int
	}{
		{"confirmed", lost, queries, found(confirmation("a")), at(6), record.Confirmed, Rest, 0},
		{"confirmed, an old question", again, queries, found(confirmation("a")), at(6), record.Confirmed, Rest, 0},
		{"confirmed, under way", attempts(t, Lost, Open), queries, found(confirmation("a")), at(6), record.Confirmed, Rest, 0},
		{"refused", lost, queries, found(refusal(402)), at(6), record.Rejected, Rest, 0},
		{"refused, the newest question", again, queries, found(refusal(402)), at(15), record.Rejected, Rest, 0},
		{"refused, an old question", again, queries, found(refusal(402)), at(14), record.Unknown, Ask, 1},
		{"refused and stored, an old question", again, queries, found(stored), at(14), record.Rejected, Rest, 0},
		{"refused, under way", attempts(t, Lost, Open), queries, found(stored), at(6), record.Submitted, Abandon, 1},
		{"refused, confirmed meanwhile", attempts(t, Lost, Confirmed), queries, found(refusal(402)), at(6), record.Confirmed, Rest, 1},
		{"not found, nothing else promised", lost, queries, Finding{}, at(6), record.Unknown, Ask, 0},
		{"not found, in the window", lost, both, Finding{}, at(6), record.Unknown, Submit, 0},
		{"not found, an old question", again, both, Finding{}, at(14), record.Unknown, Ask, 0},
		{"not found, under way", attempts(t, Lost, Open), both, Finding{}, at(6), record.Submitted, Abandon, 0},
		{"not found, confirmed meanwhile", attempts(t, Lost, Confirmed), both, Finding{}, at(6), record.Confirmed, Rest, 0},
		{"pending", lost, both, Finding{Found: true, Pending: true, Reply: refusal(402)}, at(6), record.Unknown, Ask, 0},
		{"found, undecided", lost, both, Finding{Found: true, Reply: Reply{End: Lost}}, at(6), record.Unknown, Ask, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o := c.o.Asked(c.terms, c.f, c.asked, at(20), pace)
			if o.State != c.want || len(o.Evidence) != c.evidence || o.Disputed {
				t.Errorf("%s with %d answers beside, disputed %t", o.State, len(o.Evidence), o.Disputed)
			}
			if got := o.Next(c.terms, at(99)); got != c.next {
				t.Errorf("next is %d, want %d", got, c.next)
			}
		})
	}
}

// TestNotFoundIsRemembered: it leads to a submission at once where that is safe,
// and otherwise to the next question, later and later.
func TestNotFoundIsRemembered(t *testing.T) {
	t.Parallel()
	o := attempts(t, Lost)
	safe := o.Asked(Terms{Dedupes: true, Queries: true}, Finding{}, at(6), at(7), pace)
	if !safe.NotFound.Equal(at(6)) || !safe.Due.Equal(at(7)) || safe.Tries != o.Tries {
		t.Errorf("safe: %+v", safe)
	}
	growing := Pace{First: time.Second, Most: time.Hour}
	now := at(6)
	for range 8 {
		o = o.Asked(queries, Finding{}, now, now, growing)
		if half := growing.First << (o.Tries - 1) / 2; o.Due.Sub(now) < half {
			t.Fatalf("after %d looks: again in %v", o.Tries, o.Due.Sub(now))
		}
		now = o.Due
	}
	pending := safe.Asked(queries, Finding{Found: true, Pending: true, Reply: Reply{RetryAfter: time.Minute}}, at(8), at(9), pace)
	if !pending.NotFound.IsZero() || !pending.Due.Equal(at(69)) {
		t.Errorf("pending: %+v", pending)
	}
}

// TestInquire: one asks at a time, and only about what is unknown.
func TestInquire(t *testing.T) {
	t.Parallel()
	o := attempts(t, Lost).Inquire(at(6), lease)
	if !o.Due.Equal(at(36)) || o.State != record.Unknown || o.Next(queries, at(35)) != Rest {
		t.Errorf("%+v", o)
	}
	for _, other := range []Operation{accepted(), attempts(t, Open), attempts(t, Confirmed)} {
		if got := other.Inquire(at(6), lease); !reflect.DeepEqual(got, other) {
			t.Errorf("%s: %+v", other.State, got)
		}
		if got := other.Unanswered("timeout", at(6), pace); !reflect.DeepEqual(got, other) {
			t.Errorf("%s, unanswered: %+v", other.State, got)
		}
	}
}
