package record

import (
	"errors"
	"reflect"
	"testing"
	"time"
)

// owners are what may have become of an owner's attempt; mine says whether it
// is still the owner's to end.
func owners(own *Record) []struct {
	name    string
	current *Record
	mine    bool
} {
	became := func(change func(*Record)) *Record {
		r := *own
		change(&r)
		return &r
	}
	return []struct {
		name    string
		current *Record
		mine    bool
	}{
		{"as it was", became(func(*Record) {}), true},
		{"a later version", became(func(r *Record) { r.Version, r.Lease = 9, now.Add(time.Hour) }), true},
		{"lease past, nobody looked", became(func(r *Record) { r.Lease = now.Add(-time.Hour) }), true},
		{"found past", became(func(r *Record) { r.State, r.Lease = Unknown, time.Time{} }), true},
		{"gone", nil, false},
		{"another record", became(func(r *Record) { r.Ref = NewRef(now) }), false},
		{"another attempt", became(func(r *Record) { r.Attempt++ }), false},
		{"another attempt, lost", became(func(r *Record) { r.Attempt++; r.State = Unknown }), false},
		{"confirmed", became(func(r *Record) { r.Settle(Result{}, now, policy()) }), false},
		{"rejected", became(func(r *Record) { r.Settle(Result{Rejected: true}, now, policy()) }), false},
	}
}

func TestExtend(t *testing.T) {
	t.Parallel()
	own := opened(t, leased(), Seen{}, now)
	later := now.Add(time.Minute + 999)
	for _, tt := range owners(own) {
		edit, err := own.Extend(Seen{Record: tt.current}, later, lease)
		if !tt.mine || tt.current.State == Unknown { // nobody may go on whose lease was found past
			if !errors.Is(err, ErrLeaseLost) || !reflect.DeepEqual(edit, Edit{}) {
				t.Errorf("%s: Extend = %+v, %v; want ErrLeaseLost", tt.name, edit, err)
			}
			continue
		}
		want := *tt.current
		want.Lease = now.Add(time.Minute + lease)
		if err != nil || !reflect.DeepEqual(edit, Edit{Put: &want}) {
			t.Errorf("%s: Extend = %+v, %v; want only the lease to move", tt.name, edit.Put, err)
		}
	}
}

func TestLost(t *testing.T) {
	t.Parallel()
	own := opened(t, leased(), Seen{}, now)
	for _, tt := range owners(own) {
		edit, err := own.Lost(Seen{Record: tt.current})
		if !tt.mine {
			if !errors.Is(err, ErrLeaseLost) || !reflect.DeepEqual(edit, Edit{}) {
				t.Errorf("%s: Lost = %+v, %v; want ErrLeaseLost", tt.name, edit, err)
			}
			continue
		}
		want := *tt.current
		want.State, want.Lease = Unknown, time.Time{}
		if err != nil || !reflect.DeepEqual(edit, Edit{Put: &want}) {
			t.Errorf("%s: Lost = %+v, %v; want unknown", tt.name, edit.Put, err)
		}
	}
}

func TestRelease(t *testing.T) {
	t.Parallel()
	own := opened(t, leased(), Seen{}, now)
	for _, tt := range owners(own) {
		edit, err := own.Release(Seen{Record: tt.current}, policy())
		if !tt.mine {
			if !errors.Is(err, ErrLeaseLost) || !reflect.DeepEqual(edit, Edit{}) {
				t.Errorf("%s: Release = %+v, %v; want ErrLeaseLost", tt.name, edit, err)
			}
			continue
		}
		if err != nil || !reflect.DeepEqual(edit, Edit{Remove: true}) {
			t.Errorf("%s: Release = %+v, %v; want the record removed", tt.name, edit, err)
		}
	}
}

// TestReleaseOfALaterAttempt proves nothing of the earlier ones: with the record
// their answers would be gone.
func TestReleaseOfALaterAttempt(t *testing.T) {
	t.Parallel()
	lost := with(unfinished(Unknown), func(r *Record) { r.Evidence = []Result{{Effect: "/o/1"}} })
	own := opened(t, rerunning(), Seen{Record: lost}, now)
	current := *own
	edit, err := own.Release(Seen{Record: &current, Horizon: now}, policy())
	want := current
	want.State, want.Lease = Unknown, time.Time{}
	if err != nil || !reflect.DeepEqual(edit, Edit{Put: &want}) {
		t.Errorf("Release = %+v, %v; want the outcome left unknown", edit, err)
	}
}

// TestReleaseGrantsAllow: a retry of a key older than the horizon would be taken
// for a late one, so the released identity may execute once.
func TestReleaseGrantsAllow(t *testing.T) {
	t.Parallel()
	born := now.Truncate(time.Millisecond)
	for _, tt := range []struct {
		name    string
		key     string
		keyTime KeyTime
		horizon time.Time
		granted bool
	}{
		{"no horizon", uuidv7(born), ByShape, time.Time{}, false},
		{"younger than the horizon", uuidv7(born), ByShape, born.Add(-time.Microsecond), false},
		{"at the horizon", uuidv7(born), ByShape, born, true},
		{"older than the horizon", uuidv7(born), Required, born.Add(time.Hour), true},
		{"untimed", "k", ByShape, born.Add(time.Hour), false},
		{"its time is not read", uuidv7(born), None, born.Add(time.Hour), false},
	} {
		c := claimOf(tt.key)
		c.Policy.KeyTime, c.Policy.Lease = tt.keyTime, lease
		own := c.Begin(now)
		edit, err := own.Release(Seen{Record: own, Horizon: tt.horizon}, c.Policy)
		if err != nil || !edit.Remove || (edit.GrantAllow != "") != tt.granted {
			t.Errorf("%s: Release = %+v, %v; want an allow: %t", tt.name, edit, err, tt.granted)
		}
		c.Request.Key = tt.key
		retry := Seen{Horizon: tt.horizon, Allowed: edit.GrantAllow != ""}
		if _, _, fresh, refusal := c.Open(retry, now); !fresh {
			t.Errorf("%s: the retry after the release: %v", tt.name, refusal)
		}
	}
}

// TestReleaseIsNotLate: what provably did not begin may be sent again, whatever
// a fence or the allow its claim has spent would say about the key.
func TestReleaseIsNotLate(t *testing.T) {
	t.Parallel()
	own := opened(t, leased(), Seen{}, now) // of an untimed key
	for name, tt := range map[string]struct {
		seen  Seen
		kt    KeyTime
		allow bool
	}{
		"nothing stands":       {Seen{}, ByShape, false},
		"a standing fence":     {Seen{FenceOpen: true}, ByShape, true},
		"a key without a time": {Seen{}, Required, true},
	} {
		p := policy()
		p.KeyTime = tt.kt
		tt.seen.Record = own
		edit, err := own.Release(tt.seen, p)
		if err != nil || !edit.Remove || (edit.GrantAllow != "") != tt.allow {
			t.Errorf("%s: Release = %+v, %v; want an allow: %t", name, edit, err, tt.allow)
		}
	}
}
