//go:build linux

package failover

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/proof/engines"
)

const (
	workers = 8
	pool    = 8
)

// clients place orders, each until it is answered or the clients are stopped.
type clients struct {
	prefix string
	engine *engines.Engine
	acks   atomic.Int64
	stop   context.CancelFunc
	all    sync.WaitGroup

	mu    sync.Mutex
	acked map[string]refrain.Outcome
	open  []string       // keys without an answer
	rows  map[string]int // refusals
}

// begin lets clients loose on an engine.
func begin(t *testing.T, engine *engines.Engine, prefix string) *clients {
	c := &clients{prefix: prefix, engine: engine, acked: make(map[string]refrain.Outcome), rows: make(map[string]int)}
	ctx, cancel := context.WithCancel(context.Background())
	c.stop = cancel
	for w := range workers {
		c.all.Go(func() { c.work(t, ctx, w) })
	}
	t.Cleanup(func() { cancel(); c.all.Wait() })
	return c
}

func (c *clients) work(t *testing.T, ctx context.Context, worker int) {
	for n := 0; ctx.Err() == nil; n++ {
		key := fmt.Sprintf("%s-%d-%d", c.prefix, worker, n)
		if !c.place(t, ctx, key) {
			c.mu.Lock()
			c.open = append(c.open, key)
			c.mu.Unlock()
			return
		}
	}
}

// place asks for an order until it is answered; false if ctx ended first.
func (c *clients) place(t *testing.T, ctx context.Context, key string) bool {
	call := engines.Call(key)
	call.Contract.CommitWait = time.Second
	for try := 0; ctx.Err() == nil; try++ {
		out, err := c.engine.Do(ctx, call, engines.Order{Token: fmt.Sprintf("%s/%d", key, try)})
		c.mu.Lock()
		if err == nil {
			c.acked[key] = out
			c.mu.Unlock()
			c.acks.Add(1)
			return true
		}
		row := engines.Row(err)
		if ctx.Err() != nil { // whatever it says: its caller left
			c.mu.Unlock()
			return false
		}
		c.rows[row]++
		c.mu.Unlock()
		if row != "9" && row != "10" && row != "6a" {
			t.Errorf("%s: row %q: %v", key, row, err)
			return false
		}
		retryAfter(ctx, 10*time.Millisecond)
	}
	return false
}

// retryAfter is a client's pause before its next try.
func retryAfter(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// until waits for so many more answers.
func (c *clients) until(t *testing.T, more int64) {
	t.Helper()
	want := c.acks.Load() + more
	deadline := time.NewTimer(time.Minute)
	defer deadline.Stop()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for c.acks.Load() < want {
		select {
		case <-tick.C:
		case <-deadline.C:
			c.mu.Lock()
			defer c.mu.Unlock()
			t.Fatalf("%d answers are missing after a minute; refused by row %v", want-c.acks.Load(), c.rows)
		}
	}
}

// end stops the clients; what has no answer stays in open.
func (c *clients) end() {
	c.stop()
	c.all.Wait()
}

// settle places what was left open by way of another engine.
func (c *clients) settle(t *testing.T, engine *engines.Engine) {
	t.Helper()
	c.engine = engine
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, key := range c.open {
		if !c.place(t, ctx, key) {
			t.Errorf("%s has no answer", key)
		}
	}
}

// found demands that everything acknowledged is there and is replayed with the
// same bytes.
func (c *clients) found(t *testing.T, engine *engines.Engine, orders map[string]engines.Found) {
	t.Helper()
	lost := 0
	for key, out := range c.acked {
		if order := orders[key]; order.Ref != out.Ref || order.Token != string(out.Body) {
			lost++
			t.Errorf("%s was told %s %s, found %+v", key, out.Ref, out.Body, order)
			continue
		}
		again, err := engine.Do(t.Context(), engines.Call(key), engines.Order{Token: key + "/again"})
		if err == nil {
			err = engines.Same(again, out)
		}
		if err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
}
