package operation

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/refrain-dev/refrain/record"
)

// FuzzTransitions walks transitions as the bytes say and holds, after each, what
// must be true of every operation.
func FuzzTransitions(f *testing.F) {
	f.Add([]byte{0, 0, 1, 1, 0, 0})
	f.Add([]byte("\x04\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f"))
	f.Add(append([]byte{5, 0}, bytes.Repeat([]byte{0, 60, 0, 6, 60, 0}, 99)...)) // at least once, abandoned for ever
	f.Add(bytes.Repeat([]byte{0xff, 0x10, 0x81, 0x42, 0x13, 0x24, 0x35}, 40))
	f.Fuzz(func(t *testing.T, script []byte) {
		if len(script) > 600 {
			return
		}
		walk(t, script)
	})
}

// TestTransitions walks at random, the same way each time.
func TestTransitions(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	script := make([]byte, 600)
	for range 24 {
		for i := range script {
			script[i] = byte(random.Uint32())
		}
		walk(t, script)
	}
}

func walk(t *testing.T, script []byte) {
	if len(script) < 2 {
		return
	}
	terms := []Terms{nothing, dedupes, forever, queries, notFound, atLeast, anything}[int(script[0])%7]
	o, now := accepted(), epoch
	if script[1]&1 == 1 {
		o.Within = 20 * time.Second
	}
	for script = script[2:]; len(script) >= 3; script = script[3:] {
		now = now.Add(time.Duration(script[1])*time.Second + time.Duration(script[2])*777*time.Nanosecond)
		shown, err := EncodeText(o)
		if err != nil {
			t.Fatal(err)
		}
		next, person := step(o, terms, script[0], script[2], now)
		if after, err := EncodeText(o); err != nil || !bytes.Equal(after, shown) {
			t.Fatalf("%v: step %d changed what it was shown: %s, was %s", err, script[0], after, shown)
		}
		if fault := broken(o, next, terms, now, person); fault != "" {
			t.Fatalf("step %d at %v: %s\n%+v, was\n%+v", script[0], now.Sub(epoch), fault, next, o)
		}
		o = roundTrip(t, next)
	}
}

// step does one transition; person says that it is a person's.
func step(o Operation, terms Terms, what, how byte, now time.Time) (next Operation, person bool) {
	n := 1
	if last := o.last(); last != nil {
		n = max(1, last.N-int(how>>5))
	}
	r := Reply{
		End: End(how % 7), Status: int(how % 3), Reference: []string{"", "a", "b", fmt.Sprint(how)}[how>>3&3],
		Stored: how&64 != 0, Park: how&128 != 0, Note: string([]byte{how}), RetryAfter: time.Duration(how) * time.Minute,
	}
	switch what % 12 {
	case 0, 1, 2:
		next, _ = o.Open(terms, now, lease)
	case 3, 4:
		next = o.Close(n, r, now, pace)
	case 5:
		next, _ = o.Extend(n, now, lease)
	case 6:
		next = o.Abandon(now, pace)
	case 7:
		next = o.Asked(terms, Finding{Found: how&1 == 1, Pending: how&2 == 2, Reply: r}, now.Add(-time.Duration(how)*time.Second), now, pace)
	case 8:
		next = o.Expire(now).Inquire(now, lease)
	case 9:
		next, _ = o.Withdraw(now, "x")
		person = next.State != o.State
	case 10:
		next, _ = o.Decide(now, r)
		person = next.State.Final()
	case 11:
		next, _ = o.Resume(terms, now)
	}
	return next, person
}

// broken names the invariant that a step breaks, or "".
func broken(was, is Operation, terms Terms, now time.Time, person bool) string {
	decided := person || is.Answer != nil && (is.Answer.End == Refused || is.Answer.End == NotSent && is.open(0) == 0)
	var newest Attempt
	if last := is.last(); last != nil {
		newest = *last
	}
	opened := was.State != record.Submitted && is.State == record.Submitted
	switch {
	case len(is.Attempts) > MaxAttempts || len(is.Evidence) > MaxEvidence:
		return "out of bounds"
	case is.Ref != was.Ref || is.Key != was.Key || !bytes.Equal(is.Input, was.Input) || !is.Created.Equal(was.Created):
		return "the intent changes"
	case was.State.Final() && !person && (is.State != was.State || !is.Final.Equal(was.Final) || !reflect.DeepEqual(is.Answer, was.Answer)):
		return "a machine changes a final state"
	case was.Disputed && !is.Disputed && !person:
		return "a dispute ends without a person"
	case is.Disputed && !is.State.Final():
		return "disputed, and not final"
	case is.State.Final() != !is.Final.IsZero() || is.State.Final() != (is.Answer != nil):
		return "final without an answer or an instant, or the other way round"
	case is.State.Final() && (!is.Due.IsZero() || !is.Lease.IsZero()):
		return "final, and due"
	case is.State == record.Rejected && !decided:
		return "rejected without a refusal, a person, or proof that nothing left"
	case (is.State == record.Submitted) != !is.Lease.IsZero():
		return "a lease without an attempt under way, or the other way round"
	case is.State == record.Submitted && newest.End != Open:
		return "under way without an open attempt"
	case !is.State.Final() && is.State != record.Submitted && newest.End == Open && newest.N > 0:
		return "open, and not under way"
	case is.State == record.Accepted && is.open(0) > 0:
		return "accepted although an attempt may have left"
	case is.State == record.Unknown && is.open(0) == 0:
		return "unknown although none may have left"
	case opened && was.Safe(terms, now) != nil:
		return "opened where it is not safe"
	case opened && newest.NotAfter.After(is.Lease):
		return "may leave after its lease"
	case opened && was.open(0) > 0 && is.open(newest.N) == 0 && !was.disproven(terms):
		return "earlier attempts are forgotten"
	case is.open(0) > 0 && is.First.IsZero():
		return "no instant the window runs from"
	}
	listed := is.open(0) - is.Dropped.MayHaveLeft
	if is.Dropped.MayHaveLeft < 0 || listed < 0 {
		return "dropped attempts are miscounted"
	}
	for i, a := range is.Attempts {
		if i > 0 && a.N <= is.Attempts[i-1].N || a.End == Open && i < len(is.Attempts)-1 {
			return "attempts out of order, or two open"
		}
		if a.End != Open && a.Ended.IsZero() {
			return "ended without an instant"
		}
	}
	return ""
}
