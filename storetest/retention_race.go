package storetest

import (
	"errors"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

// reaperRaces: whatever comes for a key while a reaper is about to forget it, its
// effect happens once more where it may, and never where it may not.
func reaperRaces[T any](f *fixture[T]) {
	races := []func(*race[T]){replaying[T], retryingLate[T], disputing[T], takingOver[T]}
	if !f.features.NoStanding {
		races = append(races, spendingAllow[T])
	}
	rounds := f.features.Rounds
	if rounds == 0 {
		rounds = 20
	}
	r := &race[T]{fixture: f, through: [2]*Harness[T]{f.Harness, f.connect()}}
	for r.n = range rounds {
		races[r.n%len(races)](r)
		if f.t.Failed() {
			f.t.Fatalf("in round %d of %d", r.n, rounds)
		}
	}
	f.effects(len(f.committed)) // one for each fresh outcome: a run that was refused left nothing
}

// race is one round of them.
type race[T any] struct {
	*fixture[T]
	through [2]*Harness[T]
	n       int
}

// due executes under a key born now, or one without a time, and leaves its record
// and nothing else to be forgotten.
func (r *race[T]) due(hasTime bool) (refrain.Call, refrain.Outcome) {
	r.t.Helper()
	r.clock.advance(time.Hour) // what earlier rounds left is due before it
	call := r.call("untimed", "one")
	if hasTime {
		call = r.call(timed(r.clock.Now(), r.n), "one")
	}
	original := r.fresh(call)
	r.clock.set(original.RememberUntil.Add(-time.Microsecond))
	r.reap()
	r.clock.set(original.RememberUntil)
	r.forgets(call)
	return call, original
}

// against sends a call twice, and does what is beside, while a reaper is parked;
// in every other series the second call comes only when it goes on.
func (r *race[T]) against(call refrain.Call, beside func()) (answers []answer, forgot int) {
	r.t.Helper()
	reaper := r.parkReaper()
	first := r.retry(r.through[1], call)
	other := background(func() struct{} { beside(); return struct{}{} })
	var second <-chan answer
	if r.n/5%2 == 0 {
		second = r.retry(r.through[0], call)
	}
	forgot = reaper.release().Forgotten
	if second == nil {
		second = r.retry(r.through[0], call)
	}
	await(r.t, other, "what is beside")
	return []answer{await(r.t, first, "a call"), await(r.t, second, "another")}, forgot
}

// refusals demands that each answer is one of rows.
func (r *race[T]) refusals(answers []answer, rows ...string) {
	r.t.Helper()
	for _, a := range answers {
		var refusal *refrain.Error
		if errors.As(a.err, &refusal) {
			for _, row := range rows {
				if refusal.Row == row {
					refusal = nil
					break
				}
			}
			if refusal == nil {
				continue
			}
		}
		r.t.Errorf("a call got %+v, %s; want one of rows %v", a.out, describe(a.err), rows)
	}
}

// replaying: another server's clock is a microsecond behind.
func replaying[T any](r *race[T]) {
	call, original := r.due(true)
	answers, forgot := r.against(call, func() { r.clock.set(original.RememberUntil.Add(-time.Microsecond)) })
	r.refusals(answers, "5", "2")
	r.refused(call, "2", record.TooLate)
	if forgot != 1 {
		r.t.Errorf("%d forgotten", forgot)
	}
	r.clock.set(original.RememberUntil)
}

func retryingLate[T any](r *race[T]) {
	call, _ := r.due(true)
	answers, forgot := r.against(call, func() {})
	r.refusals(answers, "2")
	r.refused(call, "2", record.TooLate)
	if forgot != 1 {
		r.t.Errorf("%d forgotten", forgot)
	}
}

// disputing: somebody changes the record. What the change has seen and written is
// not forgotten, and what is forgotten it has not seen.
func disputing[T any](r *race[T]) {
	call, original := r.due(true)
	written := false
	answers, _ := r.against(call, func() {
		r.change(r.through[r.n/3%2], call, func(seen record.Seen, _ time.Time) record.Edit {
			if written = seen.Record != nil; !written {
				return record.Edit{}
			}
			disputed := *seen.Record
			disputed.Disputed = true
			return record.Edit{Put: &disputed, By: "ops", Action: "note", Reason: "two references"}
		})
	})
	r.refusals(answers, "2", "7")
	if !written {
		r.refused(call, "2", record.TooLate)
		return
	}
	r.refused(call, "7", record.OutcomeDisputed)
	r.change(r.Harness, call, func(seen record.Seen, _ time.Time) record.Edit {
		settled := *seen.Record
		settled.Disputed = false
		if settled.Ref != original.Ref {
			r.t.Errorf("the disputed record is %s, want %s", settled.Ref, original.Ref)
		}
		return record.Edit{Put: &settled}
	})
	r.refused(call, "2", record.TooLate)
}

// spendingAllow: somebody let the key run once more.
func spendingAllow[T any](r *race[T]) {
	call, _ := r.due(true)
	r.allow(call)
	answers, forgot := r.against(call, func() {})
	again := r.oneFresh(answers)
	r.forgets(call) // in a later round
	r.replay(call, again)
	if r.load(r.Harness, call).Allowed || forgot != 1 {
		r.t.Errorf("%d forgotten; the allow is spent: %t", forgot, !r.load(r.Harness, call).Allowed)
	}
}

// takingOver: a key without a time runs again, and what is under way twice runs
// once.
func takingOver[T any](r *race[T]) {
	call, original := r.due(false)
	answers, forgot := r.against(call, func() {})
	again := r.oneFresh(answers)
	r.forgets(call) // in a later round
	r.replay(call, again)
	if again.Ref == original.Ref || forgot != 1 {
		r.t.Errorf("%d forgotten; the new action is %s, the old one was %s", forgot, again.Ref, original.Ref)
	}
}
