package operation

import (
	"reflect"
	"testing"
	"time"

	"github.com/refrain-dev/refrain/record"
)

// TestClose: what the reply of the newest attempt means, by what the earlier
// ones left behind.
func TestClose(t *testing.T) {
	t.Parallel()
	stored := refusal(402)
	stored.Stored = true
	for _, c := range []struct {
		name     string
		earlier  []End
		reply    Reply
		want     record.State
		evidence int
	}{
		{"confirmed", nil, confirmation("a"), record.Confirmed, 0},
		{"confirmed after a lost one", []End{Lost}, confirmation("a"), record.Confirmed, 0},
		{"not sent", nil, Reply{End: NotSent}, record.Accepted, 0},
		{"not sent after one that was not sent", []End{NotSent}, Reply{End: NotSent}, record.Accepted, 0},
		{"not sent after a lost one", []End{Lost}, Reply{End: NotSent}, record.Unknown, 0},
		{"refused", nil, refusal(402), record.Rejected, 0},
		{"refused after one that was not sent", []End{NotSent}, refusal(402), record.Rejected, 0},
		{"refused after a lost one", []End{Lost}, refusal(402), record.Unknown, 1},
		{"refused after a lost one and one that was not sent", []End{Lost, NotSent}, refusal(402), record.Unknown, 1},
		{"the stored refusal", nil, stored, record.Rejected, 0},
		{"the stored refusal after a lost one", []End{Lost}, stored, record.Rejected, 0},
		{"lost", nil, Reply{End: Lost}, record.Unknown, 0},
		{"open is no reply", nil, Reply{End: Open}, record.Unknown, 0},
		{"void is no reply", nil, Reply{End: Void}, record.Unknown, 0},
		{"nonsense is no reply", nil, Reply{End: 77}, record.Unknown, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o := attempts(t, append(c.earlier, Open)...)
			n, before := o.last().N, o.last().End
			closed := o.Close(n, c.reply, at(50), pace)
			if closed.State != c.want || len(closed.Evidence) != c.evidence || closed.Disputed {
				t.Errorf("%s with %d answers beside, disputed %t; want %s with %d", closed.State, len(closed.Evidence), closed.Disputed, c.want, c.evidence)
			}
			if o.last().End != before {
				t.Error("what was there before has changed")
			}
			if a := closed.last(); a.mayHaveLeft() != (c.want == record.Unknown && a.End == Lost) || !a.Ended.Equal(at(50)) {
				t.Errorf("attempt %+v", a)
			}
			final := closed.State.Final()
			if final != (closed.Answer != nil) || final != closed.Final.Equal(at(50)) || final == closed.Due.After(at(50)) || !closed.Lease.IsZero() {
				t.Errorf("answer %v, final %v, due %v, lease %v", closed.Answer, closed.Final, closed.Due, closed.Lease)
			}
			if again := closed.Close(n, c.reply, at(60), pace); !reflect.DeepEqual(again, closed) {
				t.Errorf("asked again:\n%+v, was\n%+v", again, closed)
			}
		})
	}
}

// TestLateReplies: what the reply of an attempt means that was given up before.
func TestLateReplies(t *testing.T) {
	t.Parallel()
	stored := refusal(402)
	stored.Stored = true
	for _, c := range []struct {
		name     string
		ends     []End
		reply    Reply // of the first
		want     record.State
		evidence int
	}{
		{"the only one was not sent", []End{Lost}, Reply{End: NotSent}, record.Accepted, 0},
		{"the only one was refused", []End{Lost}, refusal(402), record.Rejected, 0},
		{"the only one was confirmed", []End{Lost}, confirmation("a"), record.Confirmed, 0},
		{"not sent, another is lost", []End{Lost, Lost}, Reply{End: NotSent}, record.Unknown, 0},
		{"refused, another is lost", []End{Lost, Lost}, refusal(402), record.Unknown, 1},
		{"refused, another is open", []End{Lost, Open}, refusal(402), record.Submitted, 1},
		{"refused and stored, another is open", []End{Lost, Open}, stored, record.Rejected, 0},
		{"not sent, another is open", []End{Lost, Open}, Reply{End: NotSent}, record.Submitted, 0},
		{"confirmed, another is open", []End{Lost, Open}, confirmation("a"), record.Confirmed, 0},
		{"refused, another was not sent", []End{Lost, NotSent}, refusal(402), record.Rejected, 0},
		{"refused, another was refused", []End{Lost, Refused}, refusal(402), record.Rejected, 1},
		{"not sent, another was refused", []End{Lost, Refused}, Reply{End: NotSent}, record.Rejected, 1},
		{"not sent, another was not sent", []End{Lost, NotSent}, Reply{End: NotSent}, record.Accepted, 0},
		{"confirmed, another was refused", []End{Lost, Refused}, confirmation("a"), record.Confirmed, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o := attempts(t, c.ends...)
			o.Due, o.Tries = time.Time{}, 9 // parked
			late := o.Close(1, c.reply, at(50), pace)
			if late.State != c.want || len(late.Evidence) != c.evidence || late.Disputed {
				t.Errorf("%s with %d answers beside, disputed %t; want %s with %d", late.State, len(late.Evidence), late.Disputed, c.want, c.evidence)
			}
			if late.Attempts[0].End != c.reply.End {
				t.Errorf("the attempt ended %s", late.Attempts[0].End)
			}
			if want := o.State != late.State && late.State == record.Accepted; late.Due.IsZero() == want {
				t.Errorf("due %v", late.Due)
			}
			if again := late.Close(1, c.reply, at(60), pace); !reflect.DeepEqual(again, late) {
				t.Errorf("asked again:\n%+v, was\n%+v", again, late)
			}
		})
	}
}

// TestLostTwice: a worker that comes back and knows no more changes nothing.
func TestLostTwice(t *testing.T) {
	t.Parallel()
	o := attempts(t, Open).Abandon(at(30), pace)
	if again := o.Close(1, Reply{End: Lost, Note: "timeout"}, at(40), pace); !reflect.DeepEqual(again, o) {
		t.Errorf("%+v, was %+v", again, o)
	}
}

// TestPark: a reply that asks for a person stops the machines, and says why.
func TestPark(t *testing.T) {
	t.Parallel()
	for _, end := range []End{NotSent, Lost} {
		o := attempts(t, Open).Close(1, Reply{End: end, Park: true, Note: "the credential was refused"}, at(5), pace)
		if !o.Due.IsZero() || o.Why != "parked: the credential was refused" || o.Next(anything, at(999)) != Rest {
			t.Errorf("%s: due %v, %q", end, o.Due, o.Why)
		}
	}
	late := attempts(t, Lost).Close(1, Reply{End: NotSent, Park: true}, at(5), pace)
	if late.State != record.Accepted || !late.Due.IsZero() {
		t.Errorf("late: %s, due %v", late.State, late.Due)
	}
}

// TestRepliesAreBounded: what a provider says is cut, and survives being stored.
func TestRepliesAreBounded(t *testing.T) {
	t.Parallel()
	long := make([]byte, MaxAnswer+1)
	note := "\xff" + string(make([]rune, MaxNote)) + "é"
	r := Reply{End: Confirmed, Reference: note, Note: note[:MaxNote-1] + "éé", Body: long}
	o := attempts(t, Open).Close(1, r, at(5), pace)
	if len(o.Answer.Body) != MaxAnswer || len(o.Answer.Reference) != MaxNote || o.Answer.Reference[0] != '?' || len(o.Answer.Note) != MaxNote-1 {
		t.Errorf("%d bytes of body, %d of reference, %d of note", len(o.Answer.Body), len(o.Answer.Reference), len(o.Answer.Note))
	}
	o = attempts(t, Open).Close(1, Reply{End: Lost, RetryAfter: 1 << 62}, at(5), pace)
	if want := at(5).Add(MaxRetryAfter); !o.Due.Equal(want) {
		t.Errorf("due %v, want %v", o.Due, want)
	}
}
