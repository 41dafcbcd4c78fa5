package storetest

import (
	"errors"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

// identityVersionAtRegister: a process whose identity of the operation is made of
// other dimensions does not start.
func identityVersionAtRegister[T any](f *fixture[T]) {
	if err := f.Register(f.ctx, f.contract); err != nil {
		f.t.Fatalf("Register: %v", err)
	}
	if err := f.Register(f.ctx, f.contract); err != nil {
		f.t.Errorf("Register again: %v", err)
	}
	longer := f.contract
	longer.RememberFor *= 2
	if err := f.Register(f.ctx, longer); err != nil {
		f.t.Errorf("Register with a longer memory: %v", err)
	}
	original := f.fresh(f.call("k", "one"))

	changed, fresh := f.contract, f.contract
	changed.Dimensions = []string{"tenant", "subject"}
	fresh.Operation = "orders.fresh"
	if err := f.connect().Register(f.ctx, fresh, changed); !errors.Is(err, refrain.ErrContractChanged) {
		f.t.Errorf("Register with other dimensions: %v, want ErrContractChanged", err)
	}
	invalid := f.contract
	invalid.Schema = ""
	if err := f.Register(f.ctx, invalid); err == nil || errors.Is(err, refrain.ErrContractChanged) {
		f.t.Errorf("Register of an invalid contract: %v", err)
	}
	f.replay(f.call("k", "one"), original)
}

// identityVersionAtFirstCall: without Register the first call stores it, and a
// process that differs executes nothing until it agrees.
func identityVersionAtFirstCall[T any](f *fixture[T]) {
	original := f.fresh(f.call("k", "one"))
	changed := f.contract
	changed.Dimensions = []string{"tenant", "subject"}
	call := f.call("other", "one")
	call.Contract, call.Scope = changed, refrain.Tenant("north").Subject("alice")
	for _, h := range []*Harness[T]{f.Harness, f.connect()} {
		out, err := f.execute(h, call, f.effect(call))
		if refusal := f.isRefusal(out, err, "9", record.ContractChanged); !refusal.Retryable() {
			f.t.Errorf("contract-changed tells %+v", refusal)
		}
	}
	if runs := f.runs.Load(); runs != 1 {
		f.t.Errorf("%d effects began, want only the first contract's", runs)
	}
	f.effects(1)
	f.replay(f.call("k", "one"), original)

	elsewhere := call
	elsewhere.Contract.Operation = "orders.subject"
	f.fresh(elsewhere)
}
