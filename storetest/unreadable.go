package storetest

import (
	"errors"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

func (f *fixture[T]) damage(call refrain.Call, how Damage) {
	f.t.Helper()
	f.broken = true
	if err := f.Damage(f.ctx, identity(call), how); err != nil {
		f.t.Fatalf("Damage: %v", err)
	}
}

// unreadableRecord: a record that cannot be read is neither none nor a reason to
// hammer; its action is not run again.
func unreadableRecord[T any](f *fixture[T]) {
	for key, how := range map[string]Damage{"garbled": Garbled, "foreign": Foreign} {
		call := f.call(key, "one")
		f.fresh(call)
		f.damage(call, how)
		for _, h := range []*Harness[T]{f.Harness, f.connect()} {
			out, err := f.execute(h, call, f.effect(call))
			if refusal := f.isRefusal(out, err, "16", record.RecordUnreadable); refusal.Retryable() || refusal.RetryAfter != 0 {
				f.t.Errorf("%s: an unreadable record invites a retry: %+v", key, refusal)
			}
		}
		if seen, _, err := f.Store.Load(f.ctx, identity(call)); !errors.Is(err, record.RecordUnreadable) {
			f.t.Errorf("%s: Load = %+v, %v; want RecordUnreadable", key, seen, err)
		}
	}
	f.effects(2)
	f.fresh(f.call("healthy", "one"))
	f.clock.advance(f.contract.RememberFor)
	f.forget(10, 1)
	f.refused(f.call("garbled", "one"), "16", record.RecordUnreadable)
	f.effects(3)
}

// newerRecord: during a rolling upgrade an older binary asks for patience.
func newerRecord[T any](f *fixture[T]) {
	call := f.call("k", "one")
	f.fresh(call)
	f.damage(call, Newer)
	refusal := f.refused(call, "9", record.StoreUnavailable)
	if !errors.Is(refusal, record.ErrNewerFormat) || !refusal.Retryable() || refusal.RetryAfter <= 0 {
		f.t.Errorf("a newer record tells %+v", refusal)
	}
	f.clock.advance(2 * f.contract.RememberFor)
	f.refused(call, "9", record.StoreUnavailable)
	f.forget(10, 0)
	f.effects(1)
}
