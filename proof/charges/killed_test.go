//go:build linux

package charges

import (
	"testing"

	"github.com/refrain-dev/refrain/record"
)

// TestKilledWorker: what becomes of a payment whose worker dies right before the
// call, and right behind the provider's act, by what the provider promises.
func TestKilledWorker(t *testing.T) {
	for _, tt := range []struct {
		at      step
		kind    string
		state   record.State
		arrived int // requests for the charge
	}{
		{inClaim, "promises nothing", record.Confirmed, 1},
		{afterClaim, "dedupes", record.Confirmed, 1},
		{afterClaim, "dedupes and can be asked", record.Confirmed, 1},
		{afterClaim, "can be asked", record.Unknown, 0},
		{afterClaim, "can be asked, not found is final", record.Confirmed, 1},
		{afterClaim, "promises nothing", record.Unknown, 0},
		{afterAct, "dedupes", record.Confirmed, 2},
		{afterAct, "dedupes and can be asked", record.Confirmed, 1},
		{afterAct, "can be asked", record.Confirmed, 1},
		{afterAct, "can be asked, not found is final", record.Confirmed, 1},
		{afterAct, "promises nothing", record.Unknown, 1},
		{inSettle, "promises nothing", record.Unknown, 1},
		{afterSettle, "promises nothing", record.Confirmed, 1},
	} {
		t.Run(string(tt.at)+", "+tt.kind, func(t *testing.T) {
			t.Parallel()
			x := newTrial(t, nil, kindOf(tt.kind), 1, nil)
			o := &order{key: "key", account: "account"}
			x.orders = append(x.orders, o)
			w := x.kill(tt.at, o)
			x.check(w)
			w.stop()
			op, _ := x.operation(o)
			if arrived, _ := x.bank.count(op.Key); op.State != tt.state || arrived != tt.arrived {
				t.Errorf("%s (%s), and %d requests; want %s and %d", op.State, op.Why, arrived, tt.state, tt.arrived)
			}
		})
	}
}

// TestStoppedAtGate: a worker that is stopped between its durable attempt and the
// gate sends nothing when it goes on, however long that took; and then it is
// known that nothing had left, so that the payment is made, whoever makes it.
func TestStoppedAtGate(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			x := newTrial(t, nil, k, 1, short)
			o := &order{key: "key", account: "account"}
			x.orders = append(x.orders, o)
			w := x.stopAtGate(o)
			x.check(w)
			w.stop()
			op, _ := x.operation(o)
			if arrived, _ := x.bank.count(op.Key); op.State != record.Confirmed || arrived != 1 {
				t.Errorf("%s (%s) after %d requests: %+v", op.State, op.Why, arrived, op.Attempts)
			}
		})
	}
}

// TestStoppedBeforeItHears: a worker that is stopped when it has the answer, beyond
// its lease and for longer than it waits for one, still hears it. Nobody else can
// know what it says.
func TestStoppedBeforeItHears(t *testing.T) {
	x := newTrial(t, nil, kindOf("promises nothing"), 1, nil)
	o := &order{key: "key", account: "account"}
	x.orders = append(x.orders, o)
	w := x.stop(afterAct, x.patient()+lease, o)
	x.check(w)
	w.stop()
	if op, _ := x.operation(o); op.State != record.Confirmed {
		t.Errorf("%s (%s): %+v", op.State, op.Why, op.Attempts)
	}
}
