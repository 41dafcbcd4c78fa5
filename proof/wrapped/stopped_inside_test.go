//go:build unix

package wrapped

import (
	"syscall"
	"testing"
)

// TestStoppedInATransaction: a process is stopped while a transaction of its store
// is open, with whatever locks that holds. Others are told to come back, nothing
// runs beside it, and once it goes on the action has one effect and one answer.
func TestStoppedInATransaction(t *testing.T) {
	over(t, func(t *testing.T, scene func(testing.TB) Setting) {
		for step, effects := range map[Step]int{InClaim: 0, InCompletion: 1} {
			t.Run(string(step), func(t *testing.T) {
				t.Parallel()
				s := scene(t)
				other := Start(t, s)
				s.At, s.Signal = step, syscall.SIGSTOP
				stopped := Start(t, s)
				first := stopped.untilStopped()
				if a := post(other.url); a.problem() == "store-unavailable" && step == InClaim {
					wantProblem(t, a, 503, "store-unavailable") // it waited for the lock
				} else {
					wantProblem(t, ask(t, other.url), 409, "in-progress")
				}
				wantEffects(t, s, effects)
				stopped.Continue()
				own := <-first
				if own.problem() == "store-unavailable" && step == InClaim {
					wantProblem(t, own, 503, "store-unavailable") // its claim was too old, and nothing ran
					wantEffects(t, s, 0)
				} else {
					wantCharge(t, own, "1", false)
				}
				wantCharge(t, settle(t, other.url), "1", own.problem() == "")
				wantCharge(t, settle(t, stopped.url), "1", true)
				wantEffects(t, s, 1)
			})
		}
	})
}
