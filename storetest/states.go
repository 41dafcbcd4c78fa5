package storetest

import (
	"time"

	"github.com/refrain-dev/refrain/record"
)

// unfinishedStates: what other parts leave in the store is answered by its
// state and never executed again.
func unfinishedStates[T any](f *fixture[T]) {
	settle := func(r *record.Record) { r.Settle(record.Result{Body: []byte("x")}, f.clock.Now(), f.policy()) }
	for _, tt := range []struct {
		key     string
		change  func(*record.Record)
		row     string
		problem record.Problem
		state   record.State
	}{
		{"accepted", func(r *record.Record) { r.State = record.Accepted }, "6", record.InProgress, record.Accepted},
		{"lease lives", func(r *record.Record) { r.Lease = epoch.Add(time.Microsecond) }, "6", record.InProgress, record.Submitted},
		{"lease past", func(r *record.Record) { r.Lease = epoch }, "7", record.OutcomeUnknown, record.Submitted},
		{"unknown", func(r *record.Record) { r.State = record.Unknown }, "7", record.OutcomeUnknown, record.Unknown},
		{"disputed", func(r *record.Record) { settle(r); r.Disputed = true }, "7", record.OutcomeDisputed, record.Confirmed},
	} {
		call := f.call(tt.key, "one")
		call.Contract.Wait = -1
		placed := f.place(call, tt.change)
		refusal := f.refused(call, tt.row, tt.problem)
		if refusal.Ref != placed.Ref || refusal.RetryAfter <= 0 {
			f.t.Errorf("%s tells %+v", tt.key, refusal)
		}
		f.refused(f.call(tt.key, "two"), "4", record.KeyReused)
		async := call
		async.Contract.Async = true
		if tt.key == "disputed" { // its state is one of two that contradict each other
			f.refused(async, tt.row, tt.problem)
			continue
		}
		if out, err := f.do(async); err != nil || !out.Replayed || out.Ref != placed.Ref || out.State == 0 {
			f.t.Errorf("%s, async: %+v, %s", tt.key, out, describe(err))
		}
	}
	f.effects(0)
}
