package record

import (
	"errors"
	"reflect"
	"testing"
	"time"
)

var (
	created = Result{Status: 201, Effect: "/o/1", Body: []byte("one")}
	twice   = Result{Status: 201, Effect: "/o/2", Body: []byte("two")}
	refused = Result{Status: 409, Rejected: true}
)

// complete writes what Complete says into current and returns it.
func complete(t *testing.T, own, current *Record, at time.Time, result Result) *Record {
	t.Helper()
	edit, settled, err := own.Complete(Seen{Record: current}, at, result, policy())
	if err != nil {
		t.Fatalf("Complete: %v", err)
	}
	if edit.Remove || edit.Register != nil || edit.SpendAllow || edit.GrantAllow != "" || edit.By != "" {
		t.Errorf("Complete writes %+v", edit)
	}
	if edit.Put == nil {
		if settled != current {
			t.Errorf("nothing is written, and told is %+v, not the record", settled)
		}
		return current
	}
	if settled != edit.Put {
		t.Errorf("told is %+v, written %+v", settled, edit.Put)
	}
	return edit.Put
}

// TestComplete: the owner of the newest attempt settles, also when its lease ran
// out and a reader found that.
func TestComplete(t *testing.T) {
	t.Parallel()
	own := opened(t, leased(), Seen{}, now)
	at := now.Add(time.Hour + 999)
	for _, tt := range owners(own)[:4] {
		for _, result := range []Result{created, refused} {
			got := complete(t, own, tt.current, at, result)
			want := *tt.current
			want.Settle(result, now.Add(time.Hour), policy())
			want.Lease = time.Time{}
			if !reflect.DeepEqual(*got, want) {
				t.Errorf("%s: settled %+v, want %+v", tt.name, *got, want)
			}
		}
	}
	for _, tt := range owners(own)[4:6] {
		if edit, settled, err := own.Complete(Seen{Record: tt.current}, at, created, policy()); !errors.Is(err, ErrLeaseLost) || settled != nil || edit.Put != nil {
			t.Errorf("%s: Complete = %+v, %+v, %v; want ErrLeaseLost", tt.name, edit, settled, err)
		}
	}
}

// TestCompleteRepeated: COMMIT's answer may be lost and the owner ask again.
func TestCompleteRepeated(t *testing.T) {
	t.Parallel()
	own := opened(t, leased(), Seen{}, now)
	settled := complete(t, own, own, now, created)
	if again := complete(t, own, settled, now.Add(time.Hour), created); again != settled {
		t.Errorf("the second time it writes %+v", again)
	}
}

// TestCompleteLate: after another attempt was opened an owner's answer is
// evidence and that attempt settles.
func TestCompleteLate(t *testing.T) {
	t.Parallel()
	c := rerunning()
	first := opened(t, c, Seen{}, now)
	second := opened(t, c, Seen{Record: first}, now.Add(lease))
	unknown := second.abandoned()
	for name, current := range map[string]*Record{"open": second, "lost": unknown} {
		got := complete(t, first, current, now.Add(time.Minute), created)
		want := *current
		want.Evidence = []Result{created}
		if !reflect.DeepEqual(*got, want) {
			t.Errorf("the second attempt is %s: written %+v, want %+v", name, *got, want)
		}
		if current.Evidence != nil {
			t.Error("the seen record was changed")
		}
		if again := complete(t, first, got, now.Add(time.Minute), created); again != got {
			t.Errorf("the same evidence is written twice: %+v", again)
		}
	}
}

// TestCompleteContradicts: two answers that cannot both be true are disputed in
// whatever order they come; two that can are not.
func TestCompleteContradicts(t *testing.T) {
	t.Parallel()
	otherBody := created
	otherBody.Body, otherBody.Status = []byte("un"), 200
	otherRefusal := refused
	otherRefusal.Status, otherRefusal.Effect = 422, "/o/1"
	for _, tt := range []struct {
		name          string
		first, second Result
		disputed      bool
	}{
		{"same effect", created, otherBody, false},
		{"both refused", refused, otherRefusal, false},
		{"two effects", created, twice, true},
		{"refused, then confirmed", refused, created, true},
		{"confirmed, then refused", created, refused, true},
		{"no reference and one", Result{Status: 201}, created, true},
	} {
		c := rerunning()
		first := opened(t, c, Seen{}, now)
		second := opened(t, c, Seen{Record: first}, now.Add(lease))

		early := complete(t, first, second, now.Add(time.Minute), tt.first)
		if early.Disputed || early.State != Submitted {
			t.Errorf("%s: after one answer %v, disputed = %t", tt.name, early.State, early.Disputed)
		}
		early = complete(t, second, early, now.Add(time.Minute), tt.second)
		late := complete(t, second, second, now.Add(time.Minute), tt.second)
		late = complete(t, first, late, now.Add(time.Hour), tt.first)
		for order, got := range map[string]*Record{"evidence first": early, "evidence last": late} {
			if got.Disputed != tt.disputed || !reflect.DeepEqual(got.Result, tt.second) || got.State.Final() != true {
				t.Errorf("%s, %s: disputed = %t, result %+v", tt.name, order, got.Disputed, got.Result)
			}
			if tt.disputed && (len(got.Evidence) != 1 || !reflect.DeepEqual(got.Evidence[0], tt.first)) {
				t.Errorf("%s, %s: evidence %+v", tt.name, order, got.Evidence)
			}
			if !got.Final.Equal(now.Add(time.Minute)) {
				t.Errorf("%s, %s: final %v, moved by evidence", tt.name, order, got.Final)
			}
		}
	}
}

// TestCompleteKeepsEveryAnswer of three attempts that contradict each other.
func TestCompleteKeepsEveryAnswer(t *testing.T) {
	t.Parallel()
	c := rerunning()
	first := opened(t, c, Seen{}, now)
	second := opened(t, c, Seen{Record: first}, now.Add(lease))
	third := opened(t, c, Seen{Record: second}, now.Add(2*lease))
	answers := []struct {
		own    *Record
		result Result
	}{{first, created}, {second, twice}, {third, refused}}
	for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		current := third
		for _, i := range order {
			current = complete(t, answers[i].own, current, now.Add(time.Hour), answers[i].result)
		}
		if !current.Disputed || current.State != Rejected || !current.heard(created) || !current.heard(twice) || len(current.Evidence) != 2 {
			t.Errorf("order %v: %v, disputed = %t, evidence %+v", order, current.State, current.Disputed, current.Evidence)
		}
	}
}
