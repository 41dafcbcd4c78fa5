package storetest

import (
	"reflect"
	"time"

	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"
)

// operationsDue: the providers of which something is due, and since when.
func operationsDue[T any](o *operations[T]) {
	wants := func(want map[string]time.Time) {
		o.t.Helper()
		since, now, err := o.beside().Due(o.ctx)
		if err != nil || len(since) != len(want) || !o.isNow(now) {
			o.t.Errorf("Due: %v at %v, %v; want %v", since, now, err, want)
		}
		for name, at := range want {
			if !since[name].Equal(at) {
				o.t.Errorf("%q is due since %v, want %v", name, since[name], at)
			}
		}
	}
	by := func(name string) func(*operation.Operation) {
		return func(op *operation.Operation) { op.Provider = name }
	}
	wants(nil)
	first, parked, done, later := o.intent(), o.intent(by("parked")), o.intent(by("done")), o.intent(by("later"))
	o.adds(first, parked, done, later)
	o.clock.advance(time.Second)
	second := o.clock.Now()
	mail := o.intent(by("mail"))
	o.adds(o.intent(), mail)
	o.puts(parked.Ref, park)
	o.puts(done.Ref, settle)
	o.puts(later.Ref, func(op *operation.Operation) { op.Due = second.Add(time.Microsecond) })
	wants(map[string]time.Time{provider: epoch, "mail": second})
	o.puts(first.Ref, park)
	o.puts(mail.Ref, settle)
	o.clock.advance(time.Microsecond)
	wants(map[string]time.Time{provider: second, "later": second.Add(time.Microsecond)})
}

// operationsList: what agrees, oldest first, never more than its limit.
func operationsList[T any](o *operations[T]) {
	a := o.intent()
	b := o.intent(func(op *operation.Operation) { op.Provider = "mail" })
	c := o.intent(func(op *operation.Operation) { op.Step = "refund" })
	d := o.intent()
	action := o.accept(o.call("k", "one"), a, c)
	o.adds(b, d)
	o.puts(d.Ref, func(op *operation.Operation) { op.State = record.Unknown })
	o.puts(b.Ref, func(op *operation.Operation) {
		op.Answer, op.Disputed = &operation.Reply{End: operation.Confirmed, Reference: "ch_1", Body: []byte("{}")}, true
		op.Evidence = []operation.Reply{{End: operation.Confirmed, Reference: "ch_2", Body: []byte("{}")}}
	})
	o.puts(c.Ref, func(op *operation.Operation) { op.State = record.Unknown })
	for _, tt := range []struct {
		like operation.Operation
		want []operation.Operation
	}{
		{operation.Operation{}, []operation.Operation{a, c, b, d}},
		{operation.Operation{Provider: provider}, []operation.Operation{a, c, d}},
		{operation.Operation{Step: "charge"}, []operation.Operation{a, b, d}},
		{operation.Operation{Action: action}, []operation.Operation{a, c}},
		{operation.Operation{State: record.Unknown}, []operation.Operation{c, d}},
		{operation.Operation{State: record.Submitted}, nil},
		{operation.Operation{Disputed: true}, []operation.Operation{b}},
		{operation.Operation{Provider: provider, Step: "charge", State: record.Unknown}, []operation.Operation{d}},
		{operation.Operation{Ref: a.Ref, Key: "other"}, []operation.Operation{a, c, b, d}},
		{operation.Operation{Provider: "' OR 1=1 --"}, nil},
	} {
		got, err := o.beside().List(o.ctx, tt.like, 10)
		if err != nil || !reflect.DeepEqual(refs(got), refs(tt.want)) {
			o.t.Errorf("List(%+v): %v, %v; want %v", tt.like, refs(got), err, refs(tt.want))
		}
		for _, op := range got {
			o.same("List", op, o.stored(op.Ref).Brief())
		}
	}
	if got, err := o.store.List(o.ctx, operation.Operation{}, 2); err != nil || !reflect.DeepEqual(refs(got), []string{a.Ref, c.Ref}) {
		o.t.Errorf("List of two: %v, %v", refs(got), err)
	}

	tx, end := o.begin()
	for range 1000 {
		o.addsTo(tx, o.intent())
	}
	end(true)
	for limit, want := range map[int]int{0: 100, -1: 100, 1: 1, 5000: 1000} {
		if got, err := o.store.List(o.ctx, operation.Operation{}, limit); err != nil || len(got) != want {
			o.t.Errorf("List with limit %d: %d, %v; want %d", limit, len(got), err, want)
		}
	}
}
