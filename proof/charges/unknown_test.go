//go:build linux

package charges

import (
	"net/http"
	"testing"
	"time"

	"github.com/refrain-dev/refrain/external"
	"github.com/refrain-dev/refrain/fakeprovider"
	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"
)

// TestUnknownIsNoFailure: a bank charges, its answer is lost, its window ends and
// every question times out. The payment stays unknown, with or without a budget of
// tries, and its key does not charge again. Once the bank answers it is settled;
// where the tries are spent, after a person has it asked again.
func TestUnknownIsNoFailure(t *testing.T) {
	for name, budget := range map[string]int{"tries are spent": 4, "asked for ever": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newTrial(t, nil, kindOf("dedupes and can be asked"), 1, func(s *setting) {
				s.Budget, s.Window = budget, margin+lease
			})
			x.fault(func(s *fakeprovider.Switches) { s.Fault = fakeprovider.LoseAnswer })
			x.bank.mute(true)
			w := x.start()
			w.run()
			o := &order{key: "key", account: "account"}
			x.orders = append(x.orders, o)
			x.post(w, o)
			op := x.until(o, func(op operation.Operation) bool {
				_, asked := x.bank.count(op.Key)
				over := !op.First.IsZero() && time.Since(op.First) > x.Window
				return op.State.Final() || over && op.State == record.Unknown && asked >= 3 && (budget == 0 || op.Due.IsZero())
			})
			if op.State != record.Unknown {
				t.Fatalf("%s (%s)", op.State, op.Why)
			}
			if a := x.post(w, o); a.status != http.StatusConflict || a.problem != "outcome-unknown" {
				t.Errorf("the client is told %v", a)
			}
			if rec, err := x.desk.find(t.Context(), op.Action); err != nil || rec.State != record.Unknown {
				t.Errorf("the record is %s: %v", rec.State, err)
			}
			arrived, _ := x.bank.count(op.Key)
			x.bank.mute(false)
			if budget > 0 {
				if err := x.desk.resume(t.Context(), external.By{Who: "ops", Why: "the bank is back"}, op.Ref); err != nil {
					t.Error(err)
				}
			}
			op = x.until(o, func(op operation.Operation) bool { return op.State.Final() })
			if again, _ := x.bank.count(op.Key); again != arrived || op.State != record.Confirmed {
				t.Errorf("%s after %d charges were asked for, %d before", op.State, again, arrived)
			}
			x.check(w)
			w.stop()
		})
	}
}

// until waits for what the store shows of an order.
func (x *trial) until(o *order, reached func(operation.Operation) bool) operation.Operation {
	x.Helper()
	for deadline := time.Now().Add(patience); ; x.wait(lease / 10) {
		op, there := x.operation(o)
		switch {
		case there && reached(op):
			return op
		case time.Now().After(deadline):
			x.Fatalf("%s is %s (%s), due %v, attempts %+v", o, op.State, op.Why, op.Due, op.Attempts)
		}
	}
}
