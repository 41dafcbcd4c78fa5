package storetest

import (
	"context"
	"errors"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

// rejects writes a row and then decides against the action.
func (f *fixture[T]) rejects(call refrain.Call) func(context.Context, T) (refrain.Result, error) {
	return func(ctx context.Context, tx T) (refrain.Result, error) {
		if err := f.Write(ctx, tx, f.row(ctx, call)); err != nil {
			return refrain.Result{}, err
		}
		return refrain.Result{Status: 402, Rejected: true, Body: []byte("insufficient funds")}, nil
	}
}

// rejectionIsRecorded: the refusal is kept and its writes are undone.
func rejectionIsRecorded[T any](f *fixture[T]) {
	call := f.call("k", "one")
	out, err := f.execute(f.Harness, call, f.rejects(call))
	if err != nil || out.Replayed || out.State != record.Rejected || !out.Rejected {
		f.t.Fatalf("Execute = %+v, %v; want a recorded refusal", out, err)
	}
	f.effects(0)
	f.receipts(1)
	f.replay(call, out)
	f.refused(f.call("k", "two"), "4", record.KeyReused)
	f.clock.set(out.ReplayUntil)
	if done := f.refused(call, "5", record.ResultGone); done.State != record.Rejected {
		f.t.Errorf("past replay it is told as %v", done.State)
	}
	f.effects(0)
}

// rejectionDoesNotFlip: one key keeps its refusal when times get better; a new
// key is a new action.
func rejectionDoesNotFlip[T any](f *fixture[T]) {
	call := f.call("first try", "one")
	refused, err := f.execute(f.Harness, call, f.rejects(call))
	if err != nil {
		f.t.Fatal(err)
	}
	for _, h := range []*Harness[T]{f.Harness, f.connect()} {
		out, err := f.execute(h, call, f.effect(call)) // the funds are there now
		if err != nil {
			f.t.Fatal(err)
		}
		f.sameReplay(out, refused)
	}
	f.effects(0)
	f.fresh(f.call("second try", "one"))
	f.effects(1)

	confirmed := f.call("second try", "one")
	out, err := f.execute(f.Harness, confirmed, f.rejects(confirmed))
	if err != nil || out.State != record.Confirmed {
		f.t.Errorf("a confirmed action was told as %+v, %v", out, err)
	}

	typed := f.call("typed", "one")
	reason := errors.New("no stock")
	for range 2 {
		_, err := refrain.Do(f.ctx, f.Exec, typed, func(ctx context.Context, tx T) (string, error) {
			return "", errors.Join(f.Write(ctx, tx, f.row(ctx, typed)), refrain.Reject(reason))
		})
		var rejection *refrain.Rejection
		if !errors.As(err, &rejection) || rejection.Error() != reason.Error() {
			f.t.Errorf("Do: %v, want the rejection %q", err, reason)
		}
	}
	f.effects(1)
}
