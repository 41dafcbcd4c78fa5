package storetest

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"time"

	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"
)

// complete is an operation with every field set, as long as its bounds permit.
func complete(op operation.Operation, now time.Time) operation.Operation {
	var every [256]byte
	for i := range every {
		every[i] = byte(i)
	}
	at := func(n int) time.Time { return now.Add(time.Duration(n) * 1001 * time.Microsecond) }
	reply := func(n int) operation.Reply {
		return operation.Reply{
			End: operation.Refused, At: at(n), Reference: "ch_é\"'\\\u2028" + op.Key, Status: 402, Body: every[:],
			Note: "no key and no payload, 日本", Stored: true, RetryAfter: 1001 * time.Nanosecond, Park: true,
		}
	}
	op.Key = strings.Repeat("k", operation.MaxKey)
	op.Within, op.Memory = 90*time.Second+1, operation.Memory{ReplayFor: time.Hour, RememberFor: 24 * time.Hour, MaxResult: 1 << 20}
	op.State, op.Disputed = record.Rejected, true
	op.Due, op.Lease, op.First, op.NotFound, op.Final = time.Time{}, at(2), at(3), at(4), at(5)
	op.Tries, op.Why = 7, "a person must decide: \x01 <&> \U0001f600"
	for n := range operation.MaxAttempts {
		op.Attempts = append(op.Attempts, operation.Attempt{
			N: n + 1, Opened: at(n), NotAfter: at(n + 1), Ended: at(n + 2), End: operation.Void, Note: "void",
		})
	}
	op.Dropped = operation.Dropped{MayHaveLeft: 3, NotAfter: at(6)}
	answer := reply(0)
	answer.Body = bytes.Repeat(every[:], operation.MaxAnswer/len(every))
	op.Answer = &answer
	for n := range operation.MaxEvidence {
		op.Evidence = append(op.Evidence, reply(n))
	}
	return op
}

// operationIsExact: what was written is read, every field and every byte.
func operationIsExact[T any](o *operations[T]) {
	o.clock.advance(123457 * time.Microsecond)
	now := o.clock.Now()
	large := bytes.Repeat([]byte{0, 1, 0xff, '\'', '\\', '\n', 0x80, 'x'}, operation.MaxInput/8)
	op := complete(o.intent(inPartition("straße, 'quoted' \\ 日本"), func(op *operation.Operation) {
		op.Action, op.Step, op.Input = record.NewRef(now), strings.Repeat("s", operation.MaxName), large
	}), now)
	want := op
	want.Disputed, want.Final = false, time.Time{} // nothing is settled yet
	added := o.adds(want)[0]
	want.Seq, want.Version, want.State, want.Created, want.Due = added.Seq, added.Version, record.Accepted, now, now
	o.same("added", added, want)

	op.Input = []byte("another one")
	changed := o.puts(op.Ref, func(seen *operation.Operation) {
		next := op
		next.Seq, next.Version, next.Created = 99, 99, now.Add(-time.Hour)
		*seen = next
	})
	want = op
	want.Seq, want.Version, want.Created, want.Input = added.Seq, added.Version+1, now, large
	o.same("changed", changed, want)
	o.same("changed, beside", o.storedAt(o.beside(), op.Ref), want)

	bare := o.intent(func(op *operation.Operation) { op.Input = nil })
	stored := o.adds(bare)[0]
	bare.Seq, bare.Version, bare.State, bare.Created, bare.Due = stored.Seq, stored.Version, record.Accepted, now, now
	o.same("bare", stored, bare)
}

// operationNamesAreBytes: no collation makes two names one.
func operationNamesAreBytes[T any](o *operations[T]) {
	names := []string{"a", "A", "a ", " a", "ä", "a\u0308", "ª", "aa"}
	action := record.NewRef(epoch)
	for i, name := range names {
		op := o.intent(inPartition(name), func(op *operation.Operation) { op.Action, op.Step, op.Provider = action, name, name })
		o.adds(op)
		for _, like := range []operation.Operation{{Provider: name}, {Step: name}, {Action: action, Step: name}} {
			if ops, err := o.store.List(o.ctx, like, 0); err != nil || len(ops) != 1 || ops[0].Step != name {
				o.t.Errorf("List of %q: %v, %v", name, refs(ops), err)
			}
		}
		taken, _, err := o.store.Take(o.ctx, name, 10, func(s operation.Seen) operation.Edit { return operation.Edit{Put: &s.Operation} })
		if err != nil || len(taken) != 1 || taken[0].Ref != op.Ref {
			o.t.Errorf("Take of %q: %v, %v", name, refs(taken), err)
		}
		o.rows(i + 1)
	}
	for _, name := range names {
		o.adds(o.intent(inPartition(name)))
	}
	for _, seen := range o.offered() {
		if !seen.Behind.IsZero() {
			o.t.Errorf("partition %q is behind another one", seen.Operation.Partition)
		}
	}
}

// operationNotFound: a ref that names nothing, whatever its form.
func operationNotFound[T any](o *operations[T]) {
	call, op := o.waiting("k")
	for _, ref := range []string{record.NewRef(epoch), "", "op_", op.Action, strings.ToUpper(op.Ref), op.Ref + " ", "' OR 1=1 --", "a\x00b", "\xff"} {
		if _, _, err := o.store.Load(o.ctx, ref); !errors.Is(err, record.ErrNotFound) {
			o.t.Errorf("Load(%q): %v", ref, err)
		}
		if err := o.changes(ref, nil); !errors.Is(err, record.ErrNotFound) {
			o.t.Errorf("Change(%q): %v", ref, err)
		}
	}
	for _, action := range []string{"", op.Ref, record.NewRef(epoch), "a\x00b", "\xff"} {
		if ops, err := o.store.Of(o.ctx, action); err != nil || len(ops) != 0 {
			o.t.Errorf("Of(%q): %v, %v", action, refs(ops), err)
		}
	}
	o.repeatsAreInProgress(call, op.Action)
}

// operationsOfAnAction in the order they were inserted in, the store's.
func operationsOfAnAction[T any](o *operations[T]) {
	var ops []operation.Operation
	for _, step := range []string{"c", "a", "b"} {
		ops = append(ops, o.intent(func(op *operation.Operation) { op.Step = step }))
	}
	o.adds(o.intent())
	ref := o.accept(o.call("k", "one"), ops...)
	o.accept(o.call("other", "one"), o.intent())
	got, err := o.beside().Of(o.ctx, ref)
	if err != nil || !reflect.DeepEqual(refs(got), refs(ops)) {
		o.t.Fatalf("Of: %v, %v; want %v", refs(got), err, refs(ops))
	}
	for i, op := range got {
		o.same("Of", op, o.stored(ops[i].Ref))
		if i > 0 && op.Seq <= got[i-1].Seq {
			o.t.Errorf("inserted at %d, after %d", op.Seq, got[i-1].Seq)
		}
	}
}
