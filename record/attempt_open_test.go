package record

import (
	"errors"
	"reflect"
	"testing"
	"time"
)

const lease = 30 * time.Second

// leased is a claim of a handler that commits for itself.
func leased() *Claim {
	c := claimOf("untimed-key")
	c.Policy.Lease = lease
	c.IdentityVersion = "tenant"
	return c
}

// rerunning is one whose handler may run again after a lost outcome.
func rerunning() *Claim {
	c := leased()
	c.Policy.Rerun = true
	return c
}

// opened is the record of c's first attempt, opened at the given time.
func opened(t *testing.T, c *Claim, seen Seen, at time.Time) *Record {
	t.Helper()
	_, rec, fresh, refusal := c.Open(seen, at)
	if !fresh || refusal != nil {
		t.Fatalf("Open: fresh = %t, %v", fresh, refusal)
	}
	return rec
}

func TestOpenFresh(t *testing.T) {
	t.Parallel()
	c := leased()
	edit, rec, fresh, refusal := c.Open(Seen{IdentityVersion: "tenant"}, now.Add(999))
	if refusal != nil || !fresh {
		t.Fatalf("Open: fresh = %t, %v", fresh, refusal)
	}
	if edit.Put != rec || edit.Register != c || edit.Remove || edit.SpendAllow || edit.GrantAllow != "" || edit.By != "" {
		t.Errorf("writes %+v", edit)
	}
	if rec.State != Submitted || rec.Attempt != 1 || rec.Fence != now.UnixMicro() || rec.Actor != "clerk" || rec.Identity != c.Identity {
		t.Errorf("opened %+v", rec)
	}
	if !rec.Lease.Equal(now.Add(lease)) || rec.Lease.Location() != time.UTC {
		t.Errorf("the lease ends %v, want %v in whole microseconds", rec.Lease, now.Add(lease))
	}
	if edit, _, _, _ = c.Open(Seen{Allowed: true}, now); !edit.SpendAllow {
		t.Error("an allow is not spent")
	}
}

// TestOpenReplaces: a record past its memory gives way to a new one.
func TestOpenReplaces(t *testing.T) {
	t.Parallel()
	old := with(receipt(Result{}), func(r *Record) { r.RememberUntil, r.Attempt = now, 4 })
	edit, rec, fresh, refusal := leased().Open(Seen{Record: old}, now)
	if !fresh || refusal != nil || edit.Put != rec || rec.Ref == old.Ref || rec.Attempt != 1 {
		t.Errorf("Open = %+v, %+v, %t, %v; want a record of its own", edit, rec, fresh, refusal)
	}
}

// TestOpenAnswers: what is already there is answered, and what the reader of a
// lease that is past must write is written with every answer that tells of it.
func TestOpenAnswers(t *testing.T) {
	t.Parallel()
	const us = time.Microsecond
	other := func(rec *Record) *Record { return with(rec, func(r *Record) { r.Print = printOf("another order") }) }
	for _, tt := range []struct {
		name    string
		record  *Record
		async   bool
		row     string // "" for an answer with the record
		problem Problem
		told    State
		writes  bool
	}{
		{"receipt", receipt(Result{}), false, "", "", Confirmed, false},
		{"refusal", receipt(Result{Rejected: true}), false, "", "", Rejected, false},
		{"lease lives", submitted(now.Add(us)), false, "6", InProgress, Submitted, false},
		{"lease ends now", submitted(now), false, "7", OutcomeUnknown, Unknown, true},
		{"lease ended", submitted(now.Add(-us)), false, "7", OutcomeUnknown, Unknown, true},
		{"unknown", unfinished(Unknown), false, "7", OutcomeUnknown, Unknown, false},
		{"disputed", disputed(receipt(Result{})), false, "7", OutcomeDisputed, Confirmed, false},
		{"another request", other(submitted(now)), false, "4", KeyReused, 0, false},
		{"lease lives, async", submitted(now.Add(us)), true, "", "", Submitted, false},
		{"lease ends now, async", submitted(now), true, "", "", Unknown, true},
		{"unknown, async", unfinished(Unknown), true, "", "", Unknown, false},
	} {
		c := leased()
		c.Policy.Async = tt.async
		before := *tt.record
		edit, rec, fresh, err := c.Open(Seen{Record: tt.record}, now)
		if fresh || (edit.Put != nil) != tt.writes || edit.Register != nil || edit.Remove || edit.SpendAllow {
			t.Errorf("%s: fresh = %t, writes %+v", tt.name, fresh, edit)
		}
		if tt.writes && (edit.Put.State != Unknown || !edit.Put.Lease.IsZero() || edit.Put.Ref != before.Ref || edit.Put.Attempt != before.Attempt) {
			t.Errorf("%s: writes %+v", tt.name, edit.Put)
		}
		if !reflect.DeepEqual(*tt.record, before) {
			t.Errorf("%s: the seen record was changed", tt.name)
		}
		if tt.row == "" {
			if err != nil || rec == nil || rec.State != tt.told || rec.Ref != before.Ref {
				t.Errorf("%s: answers %+v, %v", tt.name, rec, err)
			}
			continue
		}
		var refusal *Error
		if rec != nil || !errors.As(err, &refusal) || refusal.Row != tt.row || !errors.Is(err, tt.problem) || refusal.State != tt.told {
			t.Errorf("%s: answers %+v, %#v; want row %s, told %v", tt.name, rec, err, tt.row, tt.told)
		}
	}
}

func TestOpenReopens(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string]*Record{
		"unknown":    unfinished(Unknown),
		"lease past": submitted(now),
	} {
		lost.Fence, lost.Actor, lost.Created = now.Add(-lease).UnixMicro(), "first clerk", now.Add(-lease)
		lost.Evidence = []Result{{Effect: "/o/1"}}
		edit, rec, fresh, refusal := rerunning().Open(Seen{Record: lost}, now)
		if !fresh || refusal != nil || edit.Put != rec {
			t.Fatalf("%s: Open = %+v, %t, %v", name, edit, fresh, refusal)
		}
		if rec.Ref != lost.Ref || rec.Attempt != 2 || rec.State != Submitted || !rec.Lease.Equal(now.Add(lease)) ||
			rec.Created != lost.Created || len(rec.Evidence) != 1 || rec.Fence != now.UnixMicro() {
			t.Errorf("%s: reopened %+v", name, rec)
		}
		if lost.Attempt != 1 || lost.State == rec.State && name == "unknown" {
			t.Errorf("%s: the seen record was changed: %+v", name, lost)
		}
	}
	if _, _, fresh, refusal := rerunning().Open(Seen{Record: submitted(now.Add(1000))}, now); fresh || !errors.Is(refusal, InProgress) {
		t.Errorf("a live attempt is reopened: %t, %v", fresh, refusal)
	}
	if _, _, fresh, _ := rerunning().Open(Seen{Record: disputed(receipt(Result{}))}, now); fresh {
		t.Error("a disputed record is reopened")
	}
}

// TestOpenFenceRises although the clock steps back.
func TestOpenFenceRises(t *testing.T) {
	t.Parallel()
	fence := now.UnixMicro()
	for _, step := range []time.Duration{time.Hour, time.Microsecond, 0, -time.Microsecond, -time.Hour} {
		lost := unfinished(Unknown)
		lost.Fence = fence
		rec := opened(t, rerunning(), Seen{Record: lost}, now.Add(step))
		if rec.Fence <= fence {
			t.Errorf("the clock stepped by %v: fence %d after %d", step, rec.Fence, fence)
		}
		if step > 0 && rec.Fence != now.Add(step).UnixMicro() {
			t.Errorf("the clock stepped by %v: fence %d is not the time", step, rec.Fence)
		}
	}
}

func TestCheckIdentity(t *testing.T) {
	t.Parallel()
	c := leased()
	for _, known := range []string{"", "tenant"} {
		if err := c.CheckIdentity(Seen{IdentityVersion: known}); err != nil {
			t.Errorf("the store knows %q: %v", known, err)
		}
	}
	edit, rec, fresh, err := c.Open(Seen{IdentityVersion: "tenant,subject"}, now)
	var refusal *Error
	if !errors.As(err, &refusal) || refusal.Row != "9" || !errors.Is(err, ContractChanged) || refusal.RetryAfter <= 0 {
		t.Errorf("identities of something else: %v", err)
	}
	if fresh || rec != nil || edit.Put != nil || edit.Register != nil {
		t.Errorf("it writes %+v, opens %+v", edit, rec)
	}
}

func TestExpire(t *testing.T) {
	t.Parallel()
	const us = time.Microsecond
	for _, tt := range []struct {
		name   string
		record *Record
		writes bool
	}{
		{"none", nil, false},
		{"lease lives", submitted(now.Add(us)), false},
		{"lease ends now", submitted(now), true},
		{"lease ended", submitted(now.Add(-us)), true},
		{"accepted", unfinished(Accepted), false},
		{"unknown", unfinished(Unknown), false},
		{"final", with(receipt(Result{}), func(r *Record) { r.Lease = now }), false},
	} {
		edit := Expire(Seen{Record: tt.record}, now)
		if !tt.writes {
			if !reflect.DeepEqual(edit, Edit{}) {
				t.Errorf("%s: writes %+v", tt.name, edit)
			}
			continue
		}
		want := with(tt.record, func(r *Record) { r.State, r.Lease = Unknown, time.Time{} })
		if !reflect.DeepEqual(edit, Edit{Put: want}) {
			t.Errorf("%s: writes %+v, want only %+v", tt.name, edit, want)
		}
	}
}
