//go:build linux

package pgbouncer

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/proof/engines"
	"github.com/refrain-dev/refrain/proof/processes"
	"github.com/refrain-dev/refrain/proof/servers"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	herd = 32 // callers of one key, of each engine
	pool = 8
)

// TestHerds sends each order many times at once by way of two engines, which
// share fewer sessions than they have connections.
func TestHerds(t *testing.T) {
	server := servers.StartPostgres(t, "")
	bouncer := servers.StartPgBouncer(t, server.Addr(), "default_pool_size = 6")
	for _, kind := range engines.Kinds {
		if kind.MySQL {
			continue
		}
		t.Run(kind.Name, func(t *testing.T) {
			shop := engines.NewShop(t, kind, server.DSN())
			plain := engines.Options{Plain: true}
			both := []*engines.Engine{shop.Open(t, bouncer.Addr(), pool, plain), shop.Open(t, bouncer.Addr(), pool, plain)}
			keys := processes.Size(3, 20, 200)
			for n := range keys {
				gather(t, both, fmt.Sprintf("key-%d", n))
			}
			for _, engine := range both {
				engine.Idle(t, 5*time.Second)
			}
			orders, err := shop.Orders(t.Context())
			if err != nil || len(orders) != keys {
				t.Errorf("%d orders of %d keys: %v", len(orders), keys, err)
			}
		})
	}
}

// gather demands of one key: one effect, one answer for all, a conflict for
// another request, a replay afterwards.
func gather(t *testing.T, both []*engines.Engine, key string) {
	t.Helper()
	var fresh atomic.Int64
	var mu sync.Mutex
	var first refrain.Outcome
	var answers []refrain.Outcome
	var all sync.WaitGroup
	for i, engine := range both {
		for j := range herd {
			all.Go(func() {
				call := engines.Call(key)
				call.Contract.Wait = 20 * time.Second
				out, err := engine.Do(t.Context(), call, engines.Order{Token: fmt.Sprintf("%s/%d/%d", key, i, j)})
				if err != nil {
					t.Errorf("%s: row %q, %v", key, engines.Row(err), err)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				answers = append(answers, out)
				if !out.Replayed {
					fresh.Add(1)
					first = out
				}
			})
		}
	}
	all.Wait()
	if t.Failed() {
		return
	}
	if fresh.Load() != 1 {
		t.Fatalf("%s: %d effects", key, fresh.Load())
	}
	again, err := both[0].Do(t.Context(), engines.Call(key), engines.Order{Token: key + "/again"})
	if err != nil {
		t.Errorf("%s: the repeat: %v", key, err)
	}
	for _, out := range append(answers, again) {
		if out.Replayed {
			if err := engines.Same(out, first); err != nil {
				t.Errorf("%s: %v", key, err)
			}
		}
	}
	other := engines.Call(key)
	other.Input = []byte("another order")
	if _, err := both[1].Do(t.Context(), other, engines.Order{Token: key + "/other"}); !errors.Is(err, refrain.ErrKeyReused) {
		t.Errorf("%s: another request under the key: %v", key, err)
	}
}
