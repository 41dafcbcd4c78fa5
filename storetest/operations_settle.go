package storetest

import (
	"bytes"
	"context"
	"reflect"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"
)

// settles closes the operation with reply and its record with result, as the
// transaction of the outcome does.
func settles(seen operation.Seen, reply operation.Reply, result record.Result) operation.Edit {
	op := seen.Operation.Close(len(seen.Operation.Attempts), reply, seen.Now, operation.Pace{})
	rec := *seen.Record
	rec.Settle(result, seen.Now, record.Policy{ReplayFor: op.Memory.ReplayFor, RememberFor: op.Memory.RememberFor})
	rec.Lease = time.Time{}
	return operation.Edit{Put: &op, Record: &rec}
}

// settledIsReplayed: the final record that Change wrote answers every repeat,
// byte for byte, until the deadlines that began with it.
func settledIsReplayed[T any](o *operations[T]) {
	for key, tt := range map[string]struct {
		end    operation.End
		state  record.State
		result record.Result
	}{
		"confirmed": {operation.Confirmed, record.Confirmed, record.Result{
			Status: 201, Body: []byte("\x00\xff{\"id\": 1}\r\n"), Effect: "/orders/1",
			Header: [][2]string{{"Content-Type", "application/json"}, {"X-A", "1"}, {"X-A", "2"}},
		}},
		"refused": {operation.Refused, record.Rejected, record.Result{Status: 402, Body: []byte("no"), Rejected: true}},
	} {
		call, op := o.waiting(key)
		o.clock.advance(time.Hour)
		o.takes(1, opens, op.Ref)
		o.clock.advance(time.Second)
		now := o.clock.Now()
		err := o.changes(op.Ref, func(ctx context.Context, tx T, seen operation.Seen) (operation.Edit, error) {
			o.business(ctx, tx, "paid "+key)
			return settles(seen, operation.Reply{End: tt.end, Reference: "ch_1"}, tt.result), nil
		})
		if err != nil {
			o.t.Fatal(err)
		}
		if got := o.stored(op.Ref); got.State != tt.state || !got.Final.Equal(now) || !got.Due.IsZero() || got.Answer == nil || got.Answer.Reference != "ch_1" {
			o.t.Errorf("%s: settled as %+v", key, got)
		}
		for _, h := range []*Harness[T]{o.Harness, o.connect()} {
			out, err := o.execute(h, call, o.effect(call))
			want := refrain.Outcome{
				Result: tt.result, Ref: op.Action, State: tt.state, Replayed: true, CreatedAt: record.Micro(out.CreatedAt),
				ReplayUntil: now.Add(time.Hour), RememberUntil: now.Add(24 * time.Hour),
			}
			if err != nil || !bytes.Equal(out.Body, tt.result.Body) || !reflect.DeepEqual(out, want) {
				o.t.Errorf("%s: a repeat got %+v, %s; want %+v", key, out, describe(err), want)
			}
		}
	}
	o.effects(4)
	o.takes(10, touch)
}

// settledAcceptsTheNext: the transaction that settles one step accepts another.
func settledAcceptsTheNext[T any](o *operations[T]) {
	_, op := o.waiting("k")
	next := o.intent(func(next *operation.Operation) { next.Step, next.Action = "mail", op.Action })
	add := func(ctx context.Context, tx T, seen operation.Seen) (operation.Edit, error) {
		settle(&seen.Operation)
		return touch(seen), o.store.Add(ctx, tx, next)
	}
	err := o.changes(op.Ref, func(ctx context.Context, tx T, seen operation.Seen) (operation.Edit, error) {
		if _, err := add(ctx, tx, seen); err != nil {
			o.t.Errorf("Add: %v", err)
		}
		return operation.Edit{}, errInjected
	})
	if err == nil {
		o.t.Error("no error")
	}
	o.rows(1)
	if err := o.changes(op.Ref, add); err != nil {
		o.t.Fatal(err)
	}
	if ops, err := o.store.Of(o.ctx, op.Action); err != nil || !reflect.DeepEqual(refs(ops), []string{op.Ref, next.Ref}) {
		o.t.Errorf("Of: %v, %v", refs(ops), err)
	}
	o.takes(10, touch, next.Ref)
}

// decidedMeanwhile: what a person wrote about the record is what the next
// transaction sees, whether or not it is still there.
func decidedMeanwhile[T any](o *operations[T]) {
	call, op := o.waiting("k")
	o.change(o.Harness, call, func(seen record.Seen, now time.Time) record.Edit {
		rec := *seen.Record
		rec.Settle(record.Result{Status: 201, Effect: "ch_1"}, now, o.policy())
		return record.Edit{Put: &rec}
	})
	o.edits(op.Ref, func(seen operation.Seen) operation.Edit {
		if seen.Record == nil || seen.Record.State != record.Confirmed || seen.Record.Result.Effect != "ch_1" {
			o.t.Errorf("seen with %+v", seen.Record)
		}
		next := seen.Operation.Adopt(*seen.Record)
		return operation.Edit{Put: &next}
	})
	if got := o.stored(op.Ref); got.State != record.Confirmed {
		o.t.Errorf("adopted as %+v", got)
	}
	o.clock.advance(o.contract.RememberFor)
	o.forget(10, 1)
	o.forgets(call)
	o.edits(op.Ref, func(seen operation.Seen) operation.Edit {
		if seen.Record != nil {
			o.t.Errorf("seen with the forgotten %+v", seen.Record)
		}
		return touch(seen)
	})
}
