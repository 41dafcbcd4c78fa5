package storetest

import "github.com/refrain-dev/refrain/record"

// executeNeverReopens: an outcome that a guard of a self-committing handler lost
// is not an executor's to try again, whatever the contract says.
func executeNeverReopens[T any](f *fixture[T]) {
	call := f.call("k", "one")
	call.Contract.RerunLost = true
	f.place(call, func(rec *record.Record) { rec.State = record.Unknown })
	f.refused(call, "7", record.OutcomeUnknown)
	f.effects(0)
}
