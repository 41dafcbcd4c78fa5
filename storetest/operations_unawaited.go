package storetest

import (
	"errors"

	"github.com/refrain-dev/refrain/record"
)

// acceptedWithoutOperation is refused: nothing would ever settle the action. An
// effect that rolls its operation back to a savepoint of its own comes to that.
func acceptedWithoutOperation[T any](o *operations[T]) {
	call := o.call("k", "one")
	_, err := o.Exec.Execute(o.ctx, call, o.accepting(call))
	if !errors.Is(err, record.HandlerFailed) {
		o.t.Errorf("Execute: %v, want %s", err, record.HandlerFailed)
	}
	tx, end := o.begin()
	_, err = o.ExecuteIn(o.ctx, tx, call, o.accepting(call))
	if !errors.Is(err, record.HandlerFailed) {
		o.t.Errorf("ExecuteIn: %v, want %s", err, record.HandlerFailed)
	}
	end(false)
	o.rows(0)
	o.receipts(0)
	o.effects(0)
	o.accept(call, o.intent())
}
