//go:build linux

package failover

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/proof/engines"
	"github.com/refrain-dev/refrain/proof/processes"
	"github.com/refrain-dev/refrain/proof/servers"
)

// waiting is a session that waits for the standby, 0 if there is none.
const waiting = `SELECT coalesce(max(pid), 0)::text FROM pg_stat_activity WHERE wait_event = 'SyncRep'`

// cancelled places an order whose wait for the standby is cancelled by somebody
// else. Its COMMIT is answered with success and a notice.
func (p *pair) cancelled(t *testing.T, engine *engines.Engine, key string) {
	t.Helper()
	told := make(chan error, 1)
	go func() {
		_, err := engine.Do(t.Context(), engines.Call(key), engines.Order{Token: key})
		told <- err
	}()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	cancelled := 0
	for {
		select {
		case err := <-told:
			if !errors.Is(err, refrain.ErrCommitUnknown) || engines.Row(err) != "10" || cancelled == 0 {
				t.Fatalf("after %d cancelled waits: row %q, %v", cancelled, engines.Row(err), err)
			}
			return
		case <-tick.C: // whatever waits, also a barrier that asks once more
			pid, err := p.primary.Text(t.Context(), waiting)
			if err != nil || pid == "0" {
				continue
			}
			if done, err := p.primary.Text(t.Context(), "SELECT pg_cancel_backend("+pid+")"); err == nil && done == "t" {
				cancelled++
			}
		}
	}
}

// behind demands that a repeat is not answered while nobody confirms.
func behind(t *testing.T, engine *engines.Engine, key string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	call := engines.Call(key)
	call.Contract.CommitWait = 500 * time.Millisecond
	out, err := engine.Do(ctx, call, engines.Order{Token: key + "/again"})
	if row := engines.Row(err); row != "10" && row != "9" {
		t.Errorf("a repeat of what no standby has: row %q, %+v, %v", row, out, err)
	}
}

// visible demands that everybody who reads the primary sees the order. An engine
// that answered by it would acknowledge what can still be lost.
func (p *pair) visible(t *testing.T, key string) {
	t.Helper()
	orders, err := p.shop.Orders(t.Context())
	if err != nil || orders[key].Token != key {
		t.Errorf("%s is not visible on the primary: %+v, %v", key, orders[key], err)
	}
}

// TestWaitCancelled stops the standby and cancels the wait of a COMMIT for it.
// The caller is not told success, nor is who repeats, until the standby is back.
func TestWaitCancelled(t *testing.T) {
	each(t, func(t *testing.T, kind engines.Kind) {
		p := start(t, kind)
		engine := p.shop.Open(t, "", pool)
		var first refrain.Outcome
		for _, key := range []string{"before", "a later one", "and another"} { // a later COMMIT confirms the earlier ones
			out, err := engine.Do(t.Context(), engines.Call(key), engines.Order{Token: key})
			if err != nil {
				t.Fatal(err)
			}
			if key == "before" {
				first = out
			}
		}
		p.standby.Stop(t)
		p.cancelled(t, engine, "order")
		p.cancelled(t, engine, "a later order") // an unconfirmed COMMIT confirms nothing
		p.visible(t, "order")
		behind(t, engine, "order")
		p.cancelled(t, engine, "order")   // nor does a barrier whose own wait is cancelled
		other := p.shop.Open(t, "", pool) // another process, which knows nothing
		behind(t, other, "order")
		again, err := engine.Do(t.Context(), engines.Call("before"), engines.Order{Token: "before/again"})
		if err == nil {
			err = engines.Same(again, first)
		}
		if err != nil {
			t.Errorf("what the standby has must not wait: %v", err)
		}

		p.standby.Start(t)
		for _, e := range []*engines.Engine{engine, other} {
			servers.Until(t, "the repeat is answered", func() bool {
				again, err = e.Do(t.Context(), engines.Call("order"), engines.Order{Token: "order/again"})
				return err == nil
			}, &err)
			if !again.Replayed || string(again.Body) != "order" {
				t.Errorf("the repeat was told %+v", again)
			}
		}
		engine.Idle(t, 10*time.Second)
	})
}

// TestWaitCancelledAndLost fails over after the cancelled wait: what was visible
// on the primary is gone, so nobody may have been told of it.
func TestWaitCancelledAndLost(t *testing.T) {
	processes.Heavy(t)
	each(t, func(t *testing.T, kind engines.Kind) {
		p := start(t, kind)
		engine := p.shop.Open(t, p.either(), pool, engines.Options{Writable: true})
		p.standby.Stop(t)
		p.cancelled(t, engine, "order")
		p.visible(t, "order") // without the barrier, this would be an answer
		behind(t, engine, "order")
		p.primary.Kill(t)
		p.standby.Start(t)
		p.standby.Promote(t)
		if orders, err := p.copy.Orders(t.Context()); err != nil || len(orders) > 0 {
			t.Fatalf("the new primary has %v, %v; the loss does not show", orders, err)
		}
		var out refrain.Outcome
		var err error
		servers.Until(t, "the repeat is answered", func() bool {
			out, err = engine.Do(t.Context(), engines.Call("order"), engines.Order{Token: "order/new"})
			return err == nil
		}, &err)
		if out.Replayed || string(out.Body) != "order/new" {
			t.Errorf("after the failover: %+v", out)
		}
		if orders, err := p.copy.Orders(t.Context()); err != nil || len(orders) != 1 {
			t.Errorf("%v, %v", orders, err)
		}
	})
}
