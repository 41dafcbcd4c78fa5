package record

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestResolve(t *testing.T) {
	t.Parallel()
	const us = time.Microsecond
	for _, tt := range []struct {
		name    string
		record  *Record
		allowed bool
	}{
		{"accepted", unfinished(Accepted), true},
		{"lease lives", submitted(now.Add(us)), false},
		{"lease ends now", submitted(now), true},
		{"unknown", unfinished(Unknown), true},
		{"confirmed", receipt(Result{}), false},
		{"rejected", receipt(Result{Rejected: true}), false},
		{"disputed", disputed(receipt(Result{})), true},
	} {
		before := *tt.record
		edit, err := Resolve(Seen{Record: tt.record}, now, created, policy(), "ada", "seen at the provider")
		if !reflect.DeepEqual(*tt.record, before) {
			t.Errorf("%s: the seen record was changed", tt.name)
		}
		if !tt.allowed {
			if err == nil || !reflect.DeepEqual(edit, Edit{}) || !strings.Contains(err.Error(), before.Ref) {
				t.Errorf("%s: Resolve = %+v, %v; want it left alone", tt.name, edit, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		got := edit.Put
		if got.State != Confirmed || got.Disputed || !got.Lease.IsZero() || !got.Final.Equal(now) || got.Ref != before.Ref || !reflect.DeepEqual(got.Result, created) {
			t.Errorf("%s: resolved to %+v", tt.name, got)
		}
		if edit.By != "ada" || edit.Action != "resolve" || edit.Reason != "seen at the provider" ||
			edit.Detail != before.State.String()+" to confirmed" || edit.Remove || edit.Register != nil {
			t.Errorf("%s: audited %+v", tt.name, edit)
		}
	}
}

func TestResolveNeedsNameAndReason(t *testing.T) {
	t.Parallel()
	seen := Seen{Record: unfinished(Unknown)}
	for _, tt := range []struct{ by, reason string }{{"", "why"}, {"ada", ""}, {"", ""}} {
		if edit, err := Resolve(seen, now, created, policy(), tt.by, tt.reason); err == nil || edit.Put != nil {
			t.Errorf("by %q for %q: %+v, %v", tt.by, tt.reason, edit, err)
		}
	}
	if _, err := Resolve(Seen{}, now, created, policy(), "ada", "why"); !errors.Is(err, ErrNotFound) {
		t.Errorf("no record: %v, want ErrNotFound", err)
	}
}

// TestResolveLengthensMemory: a correction never shortens what was promised.
func TestResolveLengthensMemory(t *testing.T) {
	t.Parallel()
	p := policy()
	long := disputed(receipt(created))
	long.ReplayUntil, long.RememberUntil = now.Add(9*time.Hour), now.Add(99*time.Hour)
	short := disputed(receipt(created))
	for _, tt := range []struct {
		name             string
		record           *Record
		replay, remember time.Time
	}{
		{"promised longer", long, long.ReplayUntil, long.RememberUntil},
		{"promised shorter", short, now.Add(p.ReplayFor), now.Add(p.RememberFor)},
	} {
		edit, err := Resolve(Seen{Record: tt.record}, now, refused, p, "ada", "why")
		if err != nil || edit.Put.State != Rejected || !edit.Put.ReplayUntil.Equal(tt.replay) || !edit.Put.RememberUntil.Equal(tt.remember) {
			t.Errorf("%s: %+v, %v; want until %v and %v", tt.name, edit.Put, err, tt.replay, tt.remember)
		}
	}
	// An unfinished record promised nothing yet: its deadlines run from now.
	unknown := unfinished(Unknown)
	unknown.RememberUntil = now.Add(99 * time.Hour)
	if edit, _ := Resolve(Seen{Record: unknown}, now, created, p, "ada", "why"); !edit.Put.RememberUntil.Equal(now.Add(p.RememberFor)) {
		t.Errorf("an unknown one is remembered until %v", edit.Put.RememberUntil)
	}
}

// TestResolveKeepsWhatItOverrules: no answer is lost by a correction, and one
// that a person has decided about does not open the dispute again.
func TestResolveKeepsWhatItOverrules(t *testing.T) {
	t.Parallel()
	c := rerunning()
	first := opened(t, c, Seen{}, now)
	second := opened(t, c, Seen{Record: first}, now.Add(lease))
	current := complete(t, second, second, now.Add(time.Minute), created)
	current = complete(t, first, current, now.Add(time.Minute), twice)
	edit, err := Resolve(Seen{Record: current}, now.Add(time.Hour), twice, policy(), "ada", "the first one counts")
	if err != nil {
		t.Fatal(err)
	}
	corrected := edit.Put
	if !corrected.heard(created) || !corrected.heard(twice) || corrected.Disputed || corrected.Result.Effect != twice.Effect {
		t.Errorf("corrected to %+v", corrected)
	}
	for _, again := range []struct {
		own    *Record
		result Result
	}{{first, twice}, {second, created}} {
		if got := complete(t, again.own, corrected, now.Add(2*time.Hour), again.result); got != corrected {
			t.Errorf("%s repeated after the correction writes %+v", again.result.Effect, got)
		}
	}
	if got := complete(t, first, corrected, now.Add(2*time.Hour), refused); !got.Disputed || got.State != Confirmed {
		t.Errorf("a third answer after the correction: %v, disputed = %t", got.State, got.Disputed)
	}
}

// TestResolveThenTheOwner: an owner that comes after a person contradicts or
// agrees like any other answer; the person's word stands until another one.
func TestResolveThenTheOwner(t *testing.T) {
	t.Parallel()
	own := opened(t, leased(), Seen{}, now)
	edit, err := Resolve(Seen{Record: own}, now.Add(lease), refused, policy(), "ada", "no trace of it")
	if err != nil {
		t.Fatal(err)
	}
	if got := complete(t, own, edit.Put, now.Add(time.Hour), refused); got != edit.Put {
		t.Errorf("agreement writes %+v", got)
	}
	if got := complete(t, own, edit.Put, now.Add(time.Hour), created); !got.Disputed || got.State != Rejected || !got.heard(created) {
		t.Errorf("a late confirmation of a rejected one: %v, disputed = %t, evidence %+v", got.State, got.Disputed, got.Evidence)
	}
}
