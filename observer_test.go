package refrain_test

import (
	"context"
	"errors"
	"testing"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

// log keeps the events it is told.
type log []refrain.Event

func (l *log) Observe(_ context.Context, e refrain.Event) { *l = append(*l, e) }

func TestObserver(t *testing.T) {
	t.Parallel()
	var events log
	e := newEngine()
	e.observer = &events
	c := call("k", order{"A", 2})
	c.Contract.Async = true
	broken := errors.New("no stock")
	do := func(c refrain.Call, effect func(context.Context, tx) (receipt, error)) refrain.Done[receipt] {
		done, _ := refrain.Do(t.Context(), e, c, effect)
		return done
	}
	do(call("other", nil), func(context.Context, tx) (receipt, error) { return receipt{}, broken })
	done := do(c, place)
	do(c, place)
	other := c
	other.Input = order{"A", 3}
	do(other, place)
	e.change(func(r *record.Record) { r.State = record.Unknown })
	do(c, place)
	do(call("", nil), place)
	invalid := c
	invalid.Contract.Schema = ""
	do(invalid, place)

	want := []refrain.Event{
		{Problem: refrain.ErrEffectFailed},
		{Row: "1", Ref: done.Ref},
		{Row: "3", Ref: done.Ref, Replayed: true},
		{Row: "4", Ref: done.Ref, Problem: refrain.ErrKeyReused},
		{Row: "6b", Ref: done.Ref, Replayed: true},
		{Row: "11", Problem: refrain.ErrKeyMissing},
		{},
	}
	failed := []bool{true, false, false, true, false, true, true}
	if len(events) != len(want) {
		t.Fatalf("%d events, want %d: %+v", len(events), len(want), events)
	}
	for i, got := range events {
		if got.Operation != "orders.create" || got.Took < 0 || (got.Err != nil) != failed[i] {
			t.Errorf("event %d: %+v", i, got)
		}
		got.Operation, got.Took, got.Err = "", 0, nil
		if got != want[i] {
			t.Errorf("event %d is %+v, want %+v", i, got, want[i])
		}
	}
	if !errors.Is(events[0].Err, broken) {
		t.Errorf("event 0 hides its cause: %v", events[0].Err)
	}
}
