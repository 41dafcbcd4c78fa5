package storetest

import (
	"errors"
	"reflect"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

// claim opens an attempt that is committed before its effect begins and returns
// the owner's copy.
func (f *fixture[T]) claim(through *Harness[T], call refrain.Call) record.Record {
	f.t.Helper()
	claim := f.claimOf(call)
	var own *record.Record
	f.change(through, call, func(seen record.Seen, now time.Time) record.Edit {
		edit, rec, fresh, refusal := claim.Open(seen, now)
		if !fresh {
			f.t.Fatalf("Open: %s, want a fresh attempt", describe(refusal))
		}
		own = rec
		return edit
	})
	return *own
}

// complete ends the owner's attempt and returns what is stored then.
func (f *fixture[T]) complete(through *Harness[T], own record.Record, result record.Result) record.Record {
	f.t.Helper()
	err := through.Store.Change(f.ctx, own.Identity, func(seen record.Seen, now time.Time) (record.Edit, error) {
		edit, _, err := own.Complete(seen, now, result, f.policy())
		return edit, err
	})
	if err != nil {
		f.t.Fatalf("Complete: %v", err)
	}
	rec, err := through.Store.Find(f.ctx, own.Ref)
	if err != nil {
		f.t.Fatalf("Find: %v", err)
	}
	return rec
}

// claimIsVisibleAtOnce: from the moment it is committed everybody is told that
// the action is under way, and nobody runs it.
func claimIsVisibleAtOnce[T any](f *fixture[T]) {
	call := f.call("k", "one")
	call.Contract.Wait = -1
	own := f.claim(f.Harness, call)
	for _, through := range []*Harness[T]{f.Harness, f.connect()} {
		for _, tt := range []struct {
			input   string
			row     string
			problem record.Problem
		}{{"one", "6", record.InProgress}, {"two", "4", record.KeyReused}} {
			repeat := f.call("k", tt.input)
			repeat.Contract.Wait = -1
			out, err := f.execute(through, repeat, f.effect(repeat))
			if refusal := f.isRefusal(out, err, tt.row, tt.problem); refusal.Ref != own.Ref {
				f.t.Errorf("told of %s, want %s", refusal.Ref, own.Ref)
			}
		}
		if rec := f.loaded(through, call); rec.State != record.Submitted || !rec.Lease.Equal(own.Lease) || rec.Ref != own.Ref {
			f.t.Errorf("loaded %+v, claimed %+v", rec, own)
		}
	}
	f.complete(f.Harness, own, record.Result{Status: 201, Body: []byte("done")})
	if out, err := f.execute(f.connect(), call, f.effect(call)); err != nil || !out.Replayed || string(out.Body) != "done" || out.Ref != own.Ref {
		f.t.Errorf("after its end: %+v, %s", out, describe(err))
	}
	f.effects(0)
}

// leasePastIsUnknownToAnyReader: the first who looks when the lease has ended,
// also from a connection that never met the key, writes that nobody knows; the
// owner, if it still lives, settles all the same.
func leasePastIsUnknownToAnyReader[T any](f *fixture[T]) {
	other := f.connect()
	for _, tt := range []struct {
		key     string
		async   bool
		through *Harness[T]
		met     bool
	}{
		{"same connection", false, f.Harness, true},
		{"other connection", false, other, false},
		{"other connection that met it", false, other, true},
		{"async", true, other, true},
		{"async, not met", true, other, false},
	} {
		call := f.call(tt.key, "one")
		call.Contract.Wait, call.Contract.Async = -1, tt.async
		own := f.claim(f.Harness, call)
		f.clock.set(own.Lease.Add(-time.Microsecond))
		if tt.met {
			out, err := f.execute(tt.through, call, f.effect(call))
			if tt.async && (err != nil || out.State != record.Submitted) || !tt.async && !errors.Is(err, record.InProgress) {
				f.t.Errorf("%s: in the lease's last microsecond %+v, %s", tt.key, out, describe(err))
			}
		}
		f.clock.set(own.Lease)
		out, err := f.execute(tt.through, call, f.effect(call))
		if tt.async {
			if err != nil || !out.Replayed || out.Ref != own.Ref || out.State != record.Unknown {
				f.t.Errorf("%s: at the lease's end %+v, %s", tt.key, out, describe(err))
			}
		} else {
			if refusal := f.isRefusal(out, err, "7", record.OutcomeUnknown); refusal.State != record.Unknown {
				f.t.Errorf("%s: at the lease's end it is told to be %v", tt.key, refusal.State)
			}
		}
		if rec := f.loaded(f.Harness, call); rec.State != record.Unknown || !rec.Lease.IsZero() || rec.Version != own.Version+1 {
			f.t.Errorf("%s: stored is %v, lease %v, version %d", tt.key, rec.State, rec.Lease, rec.Version)
		}
		if rec := f.complete(f.Harness, own, record.Result{Status: 201}); rec.State != record.Confirmed || rec.Disputed {
			f.t.Errorf("%s: its owner left it %v, disputed = %t", tt.key, rec.State, rec.Disputed)
		}
		f.clock.set(epoch)
	}
	f.effects(0)
}

// reopenedFenceRises although the clock stepped back, and the earlier owner is
// told to stop.
func reopenedFenceRises[T any](f *fixture[T]) {
	f.contract.RerunLost = true
	call := f.call("k", "one")
	first := f.claim(f.Harness, call)
	f.clock.set(first.Lease)
	f.change(f.Harness, call, record.Expire)
	f.clock.set(epoch.Add(-time.Hour))
	second := f.claim(f.connect(), call)
	stored := f.loaded(f.Harness, call)
	if stored.Ref != first.Ref || stored.Attempt != 2 || stored.Version != first.Version+2 || stored.Fence <= first.Fence || stored.Fence != second.Fence {
		f.t.Errorf("reopened %+v after %+v", stored, first)
	}
	err := f.Store.Change(f.ctx, identity(call), func(seen record.Seen, now time.Time) (record.Edit, error) {
		return first.Extend(seen, now, time.Minute)
	})
	if !errors.Is(err, record.ErrLeaseLost) {
		f.t.Errorf("the first owner extends its lease: %v", err)
	}
	f.complete(f.Harness, first, record.Result{Status: 201, Effect: "/orders/1"})
	if rec := f.complete(f.Harness, second, record.Result{Status: 201, Effect: "/orders/2"}); !rec.Disputed || rec.Result.Effect != "/orders/2" {
		f.t.Errorf("two effects are %v, disputed = %t", rec.State, rec.Disputed)
	}
	f.refused(call, "7", record.OutcomeDisputed)
}

// fenceAndEvidenceRoundTrip: what attempts left is stored byte for byte, and
// neither the writer's nor a reader's copy shares memory with the store.
func fenceAndEvidenceRoundTrip[T any](f *fixture[T]) {
	call := f.call("k", "one")
	rec := *f.claimOf(call).Begin(epoch)
	answers := func() []record.Result {
		return []record.Result{
			{Status: 201, Header: [][2]string{{"Location", "/o/\xff"}, {"X", ""}}, Body: []byte("\x00\xffone"), Effect: "/o/\xff"},
			{Status: 409, Rejected: true, Body: []byte("no")},
			{Status: 200, Digest: []byte("0123456789abcdef0123456789abcdef")},
			{},
		}
	}
	rec.Attempt, rec.Fence, rec.Lease, rec.Evidence = 5, 1<<62+1, epoch.Add(time.Microsecond), answers()
	f.put(call, rec)
	spoil := func(evidence []record.Result) {
		evidence[0].Body[0], evidence[0].Header[0][1], evidence[2].Digest[0] = 'x', "x", 'x'
		evidence[1] = record.Result{}
	}
	spoil(rec.Evidence)
	for _, through := range []*Harness[T]{f.Harness, f.connect()} {
		found, err := through.Store.Find(f.ctx, rec.Ref)
		if err != nil {
			f.t.Fatalf("Find: %v", err)
		}
		for _, got := range []record.Record{f.loaded(through, call), found} {
			if got.Attempt != 5 || got.Fence != 1<<62+1 || !got.Lease.Equal(epoch.Add(time.Microsecond)) {
				f.t.Errorf("attempt %d, fence %d, lease %v", got.Attempt, got.Fence, got.Lease)
			}
			if !reflect.DeepEqual(got.Evidence, answers()) {
				f.t.Fatalf("evidence\n %+v, want\n %+v", got.Evidence, answers())
			}
			spoil(got.Evidence)
		}
	}
	bare := f.loaded(f.Harness, call)
	bare.Evidence = nil
	f.put(call, bare)
	if got := f.loaded(f.Harness, call); got.Evidence != nil || got.Version != 2 {
		f.t.Errorf("evidence %+v where there is none", got.Evidence)
	}
}

// forgetSparesClaims: neither age nor number ends what has no outcome yet; what
// was settled late is remembered from then on.
func forgetSparesClaims[T any](f *fixture[T]) {
	f.contract.RerunLost = true
	live, lost, contradicted := f.call("live", "one"), f.call("lost", "one"), f.call("contradicted", "one")
	own := f.claim(f.Harness, live)
	f.claim(f.Harness, lost)
	first := f.claim(f.Harness, contradicted)
	f.clock.set(own.Lease)
	f.change(f.Harness, lost, record.Expire)
	second := f.claim(f.Harness, contradicted)
	f.complete(f.Harness, second, record.Result{Status: 201, Effect: "/orders/2"})
	f.complete(f.Harness, first, record.Result{Status: 201, Effect: "/orders/1"})

	f.clock.advance(1000 * f.policy().RememberFor)
	f.forget(100, 0)
	f.receipts(3)
	settled := f.complete(f.Harness, own, record.Result{Status: 201})
	f.clock.set(settled.RememberUntil.Add(-time.Microsecond))
	f.forget(100, 0)
	f.clock.set(settled.RememberUntil)
	f.forget(100, 1)
	f.receipts(2)
	f.effects(0)
}
