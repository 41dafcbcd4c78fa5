package storetest

import (
	"time"

	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"
)

// reapSparesWhatIsPointedAt: a final record stays, with its result, for as long as
// one of its operations is unsettled or disputed.
func reapSparesWhatIsPointedAt[T any](o *operations[T]) {
	call := o.call("k", "one")
	charge, mail := o.intent(), o.intent(func(op *operation.Operation) { op.Step = "mail" })
	o.accept(call, charge, mail)
	o.edits(charge.Ref, func(seen operation.Seen) operation.Edit { return opens(seen) })
	o.edits(charge.Ref, func(seen operation.Seen) operation.Edit {
		return settles(seen, operation.Reply{End: operation.Confirmed}, record.Result{Status: 201, Body: []byte("paid")})
	})
	spared := func(why string) {
		o.t.Helper()
		o.clock.advance(1000 * time.Hour)
		if done := o.reap(); done.Unfinished != 1 || done.Forgotten != 0 || done.Trimmed != 0 {
			o.t.Errorf("%s: %+v, want it left", why, done)
		}
		o.receipts(1)
	}
	spared("with an operation that is due")
	o.puts(mail.Ref, func(op *operation.Operation) { op.State = record.Unknown })
	spared("with an operation that is unknown")
	o.puts(mail.Ref, func(op *operation.Operation) { settle(op); op.Disputed = true })
	spared("with an operation that is disputed")
	o.puts(mail.Ref, func(op *operation.Operation) { op.Disputed = false })
	o.clock.advance(time.Hour)
	o.forget(10, 1)
	o.forgets(call)
	o.receipts(0)
}
