package storetest

import (
	"time"

	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"
)

// far is when an operation is due that waits for an earlier one.
var far = epoch.Add(24 * time.Hour)

func settle(op *operation.Operation) {
	op.State, op.Final, op.Due, op.Lease = record.Confirmed, epoch, time.Time{}, time.Time{}
}

func park(op *operation.Operation) {
	op.State, op.Due, op.Lease = record.Unknown, time.Time{}, time.Time{}
}

func postpone(op *operation.Operation) { op.Due = far }

// behind postpones what must wait for an earlier one.
func behind(seen operation.Seen) operation.Edit {
	if seen.Behind.IsZero() {
		return operation.Edit{}
	}
	postpone(&seen.Operation)
	return touch(seen)
}

// partitionOrder: whoever is offered is told of an earlier one that waits, by
// the order of insertion.
func partitionOrder[T any](o *operations[T]) {
	in := inPartition("order-1")
	a, b, c := o.intent(in), o.intent(in), o.intent(in)
	free := []operation.Operation{
		o.intent(), o.intent(), o.intent(inPartition("order-2")),
		o.intent(in, func(op *operation.Operation) { op.Provider = "mail" }),
	}
	o.adds(a, b, c)
	o.adds(free...)
	o.puts(a.Ref, func(op *operation.Operation) { op.Due = epoch.Add(2 * time.Microsecond) })
	o.puts(b.Ref, func(op *operation.Operation) { op.Due = epoch.Add(time.Microsecond) })
	o.clock.advance(time.Second)
	seen := o.offered()
	dueA, dueB := epoch.Add(2*time.Microsecond), epoch.Add(time.Microsecond)
	if !seen[a.Ref].Behind.IsZero() {
		o.t.Errorf("the first one is behind %v", seen[a.Ref].Behind)
	}
	if got := seen[b.Ref].Behind; !got.Equal(dueA) {
		o.t.Errorf("the second is behind %v, want %v", got, dueA)
	}
	if got := seen[c.Ref].Behind; !got.Equal(dueA) && !got.Equal(dueB) {
		o.t.Errorf("the third is behind %v, want %v or %v", got, dueA, dueB)
	}
	for _, op := range free {
		if s, ok := seen[op.Ref]; ok != (op.Provider == provider) || !s.Behind.IsZero() {
			o.t.Errorf("partition %q of %s: offered %t, behind %v", op.Partition, op.Provider, ok, s.Behind)
		}
	}
	lease := o.puts(a.Ref, func(op *operation.Operation) {
		op.State, op.Due, op.Lease = record.Submitted, far, far
	}).Lease
	if got := o.offered()[b.Ref].Behind; !got.Equal(lease) {
		o.t.Errorf("behind one under way until %v: %v", lease, got)
	}
	o.puts(a.Ref, park)
	if seen := o.offered(); !seen[b.Ref].Behind.IsZero() || seen[c.Ref].Behind.IsZero() {
		o.t.Errorf("a parked head: the next is behind %v, the last behind %v", seen[b.Ref].Behind, seen[c.Ref].Behind)
	}
	o.puts(a.Ref, func(op *operation.Operation) { op.Due = epoch })
	if o.offered()[b.Ref].Behind.IsZero() {
		o.t.Error("a head that is due again blocks nobody")
	}
}

// partitionReleasesTheNext when its head is settled or parked, by whatever
// writes that.
func partitionReleasesTheNext[T any](o *operations[T]) {
	for name, by := range map[string]func(ref string, how func(*operation.Operation)){
		"Change": func(ref string, how func(*operation.Operation)) { o.puts(ref, how) },
		"Take": func(ref string, how func(*operation.Operation)) {
			o.takes(1, func(seen operation.Seen) operation.Edit {
				how(&seen.Operation)
				return touch(seen)
			}, ref)
		},
	} {
		for what, how := range map[string]func(*operation.Operation){"settled": settle, "parked": park} {
			o.clock.set(epoch)
			in := inPartition(name + what)
			a, b, c := o.intent(in), o.intent(in), o.intent(in)
			mail := o.intent(in, func(op *operation.Operation) { op.Provider = "mail" })
			o.adds(a, b, c, mail)
			o.puts(mail.Ref, postpone)
			o.takes(10, behind, b.Ref, c.Ref)
			postponed := o.stored(b.Ref)
			o.clock.advance(time.Second)
			by(a.Ref, how)
			next := postponed
			next.Due, next.Version = epoch.Add(time.Second), postponed.Version+1
			o.same(name+": the next after one that is "+what, o.stored(b.Ref), next)
			for _, ref := range []string{c.Ref, mail.Ref} {
				if due := o.stored(ref).Due; !due.Equal(far) {
					o.t.Errorf("%s, %s: another one is due at %v", name, what, due)
				}
			}
			by(b.Ref, how)
			if due := o.stored(c.Ref).Due; !due.Equal(epoch.Add(time.Second)) {
				o.t.Errorf("%s, %s: the last one is due at %v", name, what, due)
			}
			by(c.Ref, how)
		}
	}
}

// partitionReleasesInOneTake: the head is settled by the transaction that
// postpones the next.
func partitionReleasesInOneTake[T any](o *operations[T]) {
	in := inPartition("order-1")
	a, b := o.intent(in), o.intent(in)
	o.adds(a, b)
	for name, due := range map[string]time.Time{"before": epoch, "after": epoch.Add(time.Minute)} {
		o.puts(a.Ref, func(op *operation.Operation) { op.State, op.Final, op.Due = record.Accepted, time.Time{}, due })
		o.puts(b.Ref, func(op *operation.Operation) { op.Due = epoch.Add(time.Second) })
		o.clock.set(epoch.Add(time.Hour))
		_, now, err := o.store.Take(o.ctx, provider, 10, func(seen operation.Seen) operation.Edit {
			if seen.Operation.Ref == a.Ref {
				settle(&seen.Operation)
				return touch(seen)
			}
			return behind(seen)
		})
		if due := o.stored(b.Ref).Due; err != nil || due.After(now) {
			o.t.Errorf("decided %s its head is settled, the next is due at %v, %v", name, due, err)
		}
	}
}

// partitionReleasesNoOther: only the head releases, and only what waits.
func partitionReleasesNoOther[T any](o *operations[T]) {
	in := inPartition("order-1")
	a, b, c := o.intent(in), o.intent(in), o.intent(in)
	o.adds(a, b, c)
	o.puts(b.Ref, postpone)
	o.puts(c.Ref, postpone)
	unmoved := func(what, ref string) {
		o.t.Helper()
		if due := o.stored(ref).Due; !due.Equal(far) {
			o.t.Errorf("%s: another one is due at %v", what, due)
		}
	}
	o.puts(a.Ref, func(op *operation.Operation) { op.State = record.Unknown })
	unmoved("the head still waits", b.Ref)
	o.puts(b.Ref, settle)
	unmoved("one that is not the head is settled", c.Ref)
	o.puts(a.Ref, park)
	o.puts(c.Ref, postpone)
	o.puts(a.Ref, settle)
	unmoved("a parked one is settled", c.Ref)

	free := o.intent()
	o.adds(free)
	o.puts(free.Ref, settle)
	unmoved("one of no partition is settled", c.Ref)

	d, e := o.intent(in), o.intent(in)
	o.puts(c.Ref, settle)
	o.adds(d, e)
	o.puts(e.Ref, func(op *operation.Operation) { op.State, op.Due, op.Lease = record.Submitted, far, far })
	o.puts(d.Ref, settle)
	unmoved("the next is under way", e.Ref)
}

// partitionLateCommit: what commits late is taken late and never skipped.
func partitionLateCommit[T any](o *operations[T]) {
	for _, in := range []func(*operation.Operation){inPartition(""), inPartition("order-1")} {
		x, y := o.intent(in), o.intent(in)
		first, endFirst := o.begin()
		o.addsTo(first, x)
		o.adds(y)
		o.takes(10, opens, y.Ref)
		endFirst(true)
		if seen := o.offered(); len(seen) != 1 || !seen[x.Ref].Behind.IsZero() {
			o.t.Errorf("offered %v after the late COMMIT, want %s behind nobody", seen, x.Ref)
		}
		o.takes(10, opens, x.Ref)
	}
}

// partitionHole: what was rolled back holds up nobody.
func partitionHole[T any](o *operations[T]) {
	in := inPartition("order-1")
	first, end := o.begin()
	o.addsTo(first, o.intent(in))
	end(false)
	op := o.intent(in)
	o.adds(op)
	if seen := o.offered(); len(seen) != 1 || !seen[op.Ref].Behind.IsZero() {
		o.t.Errorf("offered %v, want %s behind nobody", seen, op.Ref)
	}
}
