package storetest

import (
	"time"

	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"
)

// touch writes an operation as it was seen.
func touch(seen operation.Seen) operation.Edit { return operation.Edit{Put: &seen.Operation} }

// opens begins an attempt under a lease of a minute.
func opens(seen operation.Seen) operation.Edit {
	op, err := seen.Operation.Open(operation.Terms{}, seen.Now, time.Minute)
	if err != nil {
		return operation.Edit{}
	}
	edit := operation.Edit{Put: &op}
	if seen.Record != nil {
		if rec, changed := op.Mirror(*seen.Record); changed {
			edit.Record = &rec
		}
	}
	return edit
}

// takeOnlyWhatIsDue, of its provider, at the store's time.
func takeOnlyWhatIsDue[T any](o *operations[T]) {
	now := epoch.Add(time.Hour)
	for _, tt := range []struct {
		name   string
		change func(*operation.Operation)
		due    bool
	}{
		{"of another provider", func(op *operation.Operation) { op.Due = epoch }, true},
		{"due long ago", func(op *operation.Operation) { op.Due = epoch }, true},
		{"due now", func(op *operation.Operation) { op.Due = now }, true},
		{"due in a microsecond", func(op *operation.Operation) { op.Due = now.Add(time.Microsecond) }, false},
		{"parked", func(op *operation.Operation) { op.State, op.Due = record.Unknown, time.Time{} }, false},
		{"its lease is past", func(op *operation.Operation) { op.State, op.Due, op.Lease = record.Submitted, now, now }, true},
		{"unknown", func(op *operation.Operation) { op.State = record.Unknown }, true},
		{"settled", func(op *operation.Operation) { op.State, op.Final, op.Due = record.Confirmed, now, time.Time{} }, false},
	} {
		o.clock.set(epoch)
		op := o.intent(func(op *operation.Operation) {
			if tt.name == "of another provider" {
				op.Provider = "mail"
			}
		})
		o.adds(op)
		o.puts(op.Ref, tt.change)
		o.clock.set(now)
		taken, _, err := o.beside().Take(o.ctx, op.Provider, 10, func(seen operation.Seen) operation.Edit {
			if seen.Operation.Provider != op.Provider || !seen.Now.Equal(now) || seen.Record != nil || !seen.Behind.IsZero() {
				o.t.Errorf("%s: offered %+v", tt.name, seen)
			}
			o.same("offered", seen.Operation, o.stored(seen.Operation.Ref))
			return touch(seen)
		})
		if err != nil || len(taken) == 1 != tt.due || len(taken) > 1 {
			o.t.Errorf("%s: took %v, %v", tt.name, refs(taken), err)
		}
		if op.Provider == provider {
			o.puts(op.Ref, func(op *operation.Operation) { op.Due = time.Time{} })
		}
	}
}

// takeLongestDueFirst, as many as are asked for.
func takeLongestDueFirst[T any](o *operations[T]) {
	o.takes(10, touch)
	var all []string
	for range 5 {
		op := o.intent()
		o.adds(op)
		all = append(all, op.Ref)
	}
	for i, after := range []int{3, 1, 2, 1, 0} {
		o.puts(all[i], func(op *operation.Operation) { op.Due = epoch.Add(time.Duration(after) * time.Microsecond) })
	}
	o.clock.advance(time.Second)
	order := []string{all[4], all[1], all[3], all[2], all[0]} // of two that are due alike the older one
	o.takes(10, touch, order...)
	o.takes(2, touch, order[:2]...)
	o.takes(0, touch)
	o.takes(-1, touch)
	o.takes(3, func(seen operation.Seen) operation.Edit {
		if seen.Operation.Ref == order[1] {
			return operation.Edit{}
		}
		return touch(seen)
	}, order[0], order[2])
}

// takeWritesWhatIsDecided and nothing else.
func takeWritesWhatIsDecided[T any](o *operations[T]) {
	a, b := o.intent(), o.intent()
	before := o.adds(a, b)
	o.takes(10, func(operation.Seen) operation.Edit { return operation.Edit{} })
	o.same("left alone", o.stored(a.Ref), before[0])
	o.same("left alone", o.stored(b.Ref), before[1])

	o.clock.advance(time.Second)
	taken := o.takes(10, func(seen operation.Seen) operation.Edit {
		if seen.Operation.Ref == b.Ref {
			return operation.Edit{}
		}
		return opens(seen)
	}, a.Ref)
	o.same("as it was written", taken[0], o.storedAt(o.beside(), a.Ref))
	o.same("left alone", o.stored(b.Ref), before[1])
	if taken[0].State != record.Submitted || len(taken[0].Attempts) != 1 || taken[0].Version <= before[0].Version ||
		!taken[0].Lease.Equal(epoch.Add(time.Second+time.Minute)) {
		o.t.Errorf("written %+v", taken[0])
	}
	o.takes(10, touch, b.Ref) // the other one is under way
	o.clock.set(taken[0].Lease)
	o.takes(10, touch, b.Ref, a.Ref)
}

// takeMirrorsTheRecord: repeats are told what is known of the operation.
func takeMirrorsTheRecord[T any](o *operations[T]) {
	call, op := o.waiting("k")
	o.clock.advance(time.Second)
	before, err := o.Store.Find(o.ctx, op.Action)
	if err != nil {
		o.t.Fatal(err)
	}
	o.takes(1, func(seen operation.Seen) operation.Edit {
		if seen.Record == nil || seen.Record.Ref != op.Action || seen.Record.State != record.Accepted {
			o.t.Errorf("offered with %+v", seen.Record)
		}
		return opens(seen)
	}, op.Ref)
	rec, err := o.connect().Store.Find(o.ctx, op.Action)
	if err != nil || rec.State != record.Submitted || !rec.Lease.Equal(epoch.Add(time.Second+time.Minute)) || rec.Version <= before.Version {
		o.t.Errorf("the record is %+v, %v", rec, err)
	}
	o.refused(call, "6", record.InProgress)
	o.clock.set(rec.Lease)
	o.takes(1, func(seen operation.Seen) operation.Edit {
		next := seen.Operation.Abandon(seen.Now, operation.Pace{})
		mirrored, _ := next.Mirror(*seen.Record)
		return operation.Edit{Put: &next, Record: &mirrored}
	}, op.Ref)
	o.refused(call, "7", record.OutcomeUnknown)
	if rec, err = o.Store.Find(o.ctx, op.Action); err != nil || rec.State != record.Unknown || !rec.Lease.IsZero() {
		o.t.Errorf("the record is %+v, %v", rec, err)
	}
	o.effects(1)
}
