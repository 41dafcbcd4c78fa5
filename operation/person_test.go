package operation

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/refrain-dev/refrain/record"
)

// TestDecide: a person settles what machines cannot know, and nothing else.
func TestDecide(t *testing.T) {
	t.Parallel()
	disputed := attempts(t, Refused).Close(1, confirmation("a"), at(6), pace)
	for _, c := range []struct {
		name    string
		o       Operation
		r       Reply
		allowed bool
	}{
		{"unknown, confirmed", attempts(t, Lost), confirmation("a"), true},
		{"unknown, refused", attempts(t, Lost), refusal(0), true},
		{"unknown, without an answer", attempts(t, Lost), Reply{End: Lost}, false},
		{"accepted", accepted(), refusal(0), false},
		{"under way", attempts(t, Open), refusal(0), false},
		{"disputed, confirmed", disputed, confirmation("a"), true},
		{"disputed, refused", disputed, refusal(0), true},
		{"confirmed", attempts(t, Confirmed), refusal(0), false},
		{"rejected", attempts(t, Refused), confirmation("a"), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o, err := c.o.Decide(at(29), c.r)
			if (err == nil) != c.allowed {
				t.Fatalf("%v", err)
			}
			if !c.allowed {
				if !reflect.DeepEqual(o, c.o) {
					t.Errorf("refused, and changed: %+v", o)
				}
				return
			}
			want := map[End]record.State{Confirmed: record.Confirmed, Refused: record.Rejected}[c.r.End]
			if o.State != want || o.Disputed || !o.Final.Equal(at(29)) || !o.Due.IsZero() || !o.Answer.same(c.r) {
				t.Errorf("%+v", o)
			}
			if c.o.Answer != nil && !heard(o, *c.o.Answer) {
				t.Error("what was overruled is lost")
			}
		})
	}
	past, err := attempts(t, Open).Decide(at(30), refusal(0))
	if err != nil || past.State != record.Rejected || !past.Lease.IsZero() {
		t.Errorf("its lease past: %v, %+v", err, past)
	}
}

func heard(o Operation, r Reply) bool {
	for _, e := range o.Evidence {
		if e.same(r) {
			return true
		}
	}
	return o.Answer != nil && o.Answer.same(r)
}

// TestAfterADecision: what a person knew stays decided, what is new contradicts.
func TestAfterADecision(t *testing.T) {
	t.Parallel()
	decide := func(o Operation, r Reply) Operation {
		o, err := o.Decide(at(100), r)
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	disputed := attempts(t, Lost, Confirmed).Close(1, confirmation("a"), at(60), pace).Close(1, confirmation("b"), at(60), pace)
	if !disputed.Disputed {
		t.Fatal("not disputed")
	}
	for _, c := range []struct {
		name     string
		o        Operation
		later    Reply
		disputed bool
	}{
		{"rejected, then confirmed", decide(attempts(t, Lost), refusal(0)), confirmation("a"), true},
		{"rejected, then refused", decide(attempts(t, Lost), refusal(0)), refusal(402), false},
		{"confirmed, then refused", decide(attempts(t, Lost), confirmation("a")), refusal(402), false},
		{"confirmed, then the same", decide(attempts(t, Lost), confirmation("a")), confirmation("a"), false},
		{"confirmed, then another", decide(attempts(t, Lost), confirmation("a")), confirmation("b"), true},
		{"confirmed by no reference, then by one", decide(attempts(t, Lost), confirmation("")), confirmation("a"), false},
		{"one of two, then the other again", decide(disputed, confirmation("a")), confirmation("b"), false},
		{"neither of two, then one again", decide(disputed, refusal(0)), confirmation("b"), false},
		{"one of two, then a third", decide(disputed, confirmation("a")), confirmation("c"), true},
	} {
		o := c.o.Close(1, c.later, at(200), pace)
		if o.Disputed != c.disputed || o.State != c.o.State || !o.Final.Equal(c.o.Final) || !heard(o, c.later) {
			t.Errorf("%s: disputed %t, %s, %+v", c.name, o.Disputed, o.State, o.Evidence)
		}
	}
}

// TestWithdraw and expiry: only where provably nothing left.
func TestWithdraw(t *testing.T) {
	t.Parallel()
	for _, o := range []Operation{accepted(), attempts(t, NotSent)} {
		gone, err := o.Withdraw(at(6), "the order was cancelled")
		if err != nil || gone.State != record.Rejected || gone.Answer.End != NotSent || gone.Why != "the order was cancelled" || !gone.Due.IsZero() {
			t.Errorf("%v: %+v", err, gone)
		}
	}
	for _, o := range []Operation{attempts(t, Open), attempts(t, Lost), attempts(t, Confirmed), attempts(t, Refused)} {
		if got, err := o.Withdraw(at(6), "x"); err == nil || !reflect.DeepEqual(got, o) {
			t.Errorf("%s was withdrawn", o.State)
		}
	}
}

func TestExpire(t *testing.T) {
	t.Parallel()
	within := func(o Operation) Operation {
		o.Within = 40 * time.Second
		return o
	}
	for _, o := range []Operation{within(accepted()), within(attempts(t, NotSent))} {
		if early := o.Expire(at(40).Add(-time.Microsecond)); early.State != record.Accepted {
			t.Errorf("early: %s", early.State)
		}
		if late := o.Expire(at(40)); late.State != record.Rejected || late.Answer.End != NotSent || !late.Final.Equal(at(40)) {
			t.Errorf("late: %+v", late)
		}
	}
	for _, o := range []Operation{accepted(), within(attempts(t, Open)), within(attempts(t, Lost)), within(attempts(t, Confirmed))} {
		if got := o.Expire(at(99)); !reflect.DeepEqual(got, o) {
			t.Errorf("%s expired", o.State)
		}
	}
}

// TestLeave rests what only a person can decide; nothing else.
func TestLeave(t *testing.T) {
	t.Parallel()
	o := attempts(t, Lost).Leave(ErrWindowOver)
	if !o.Due.IsZero() || o.State != record.Unknown || !strings.Contains(o.Why, ErrWindowOver.Error()) {
		t.Errorf("%+v", o)
	}
	for _, o := range []Operation{accepted(), attempts(t, Open), attempts(t, Refused)} {
		if got := o.Leave(ErrSettled); !reflect.DeepEqual(got, o) {
			t.Errorf("%s: %+v", o.State, got)
		}
	}
}

// TestResume: due at once, where a machine may do something.
func TestResume(t *testing.T) {
	t.Parallel()
	late := accepted()
	late.Within = time.Second
	for _, c := range []struct {
		name  string
		o     Operation
		terms Terms
		want  error
	}{
		{"accepted", accepted(), nothing, nil},
		{"accepted, too late", late, queries, ErrTooLate},
		{"unknown, nothing promised", attempts(t, Lost), nothing, ErrNotRepeatable},
		{"unknown, to be asked about", attempts(t, Lost), queries, nil},
		{"unknown, in the window", attempts(t, Lost), dedupes, nil},
		{"under way", attempts(t, Open), forever, ErrUnderWay},
		{"under way, to be asked about", attempts(t, Open), queries, ErrUnderWay},
		{"confirmed", attempts(t, Confirmed), queries, ErrSettled},
	} {
		c.o.Tries = 7
		o, err := c.o.Resume(c.terms, at(20))
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
		if err == nil && (!o.Due.Equal(at(20)) || o.Tries != 0 || o.Next(c.terms, at(20)) == Rest) {
			t.Errorf("%s: due %v after %d tries", c.name, o.Due, o.Tries)
		}
		if err != nil && !reflect.DeepEqual(o, c.o) {
			t.Errorf("%s: refused, and changed", c.name)
		}
	}
}
