package storetest

import (
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/upkeep"
)

// operationsBehindFences: who decides is told until when what happened may have
// been lost, also after the fence has ended.
func operationsBehindFences[T any](o *operations[T]) {
	_, waiting := o.waiting("k")
	message := o.intent()
	o.adds(message)
	told := func(when string, action, alone time.Time) {
		o.t.Helper()
		offered := o.offered()
		for ref, want := range map[string]time.Time{waiting.Ref: action, message.Ref: alone} {
			if seen, ok := offered[ref]; !ok || !seen.LostUntil.Equal(want) {
				o.t.Errorf("%s: Take tells %v of %s, want %v", when, seen.LostUntil, ref, want)
			}
			o.edits(ref, func(seen operation.Seen) operation.Edit {
				if !seen.LostUntil.Equal(want) {
					o.t.Errorf("%s: Change tells %v of %s, want %v", when, seen.LostUntil, ref, want)
				}
				return operation.Edit{}
			})
		}
	}
	told("without a fence", time.Time{}, time.Time{})
	o.clock.advance(time.Minute)
	later := o.clock.Now()
	for _, elsewhere := range []upkeep.Fence{{Operation: "orders.batch"}, {Scope: refrain.Tenant("south").String()}} {
		f := restored(later)
		f.Operation, f.Scope = elsewhere.Operation, elsewhere.Scope
		o.setFence(f)
	}
	told("with fences over others", time.Time{}, time.Time{})
	all := o.setFence(restored(epoch))
	told("with one over everything", epoch, epoch)
	if err := o.retention().EndFence(o.ctx, all, "ops", "over"); err != nil {
		o.t.Fatalf("EndFence: %v", err)
	}
	told("when it has ended", epoch, epoch)
	own := restored(later)
	own.Operation, own.Scope = "orders.create", refrain.Tenant("north").String()
	o.setFence(own)
	told("with a later one over the action", later, epoch)
}
