//go:build linux

package engines

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"
)

// Full demands that all connections of a pool of that size can be had: so many
// orders are inside their effects at one moment. The engine must be Alone.
func (e *Engine) Full(t testing.TB, pool int, prefix string) {
	t.Helper()
	var all sync.WaitGroup
	inside := make(chan struct{}, pool)
	meet := make(chan struct{})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for i := range pool {
		all.Go(func() {
			key := fmt.Sprintf("%s-full-%d", prefix, i)
			out, err := e.Do(ctx, Call(key), Order{Token: key, Inside: func() {
				inside <- struct{}{}
				select {
				case <-meet:
				case <-ctx.Done():
				}
			}})
			if err != nil || out.Replayed {
				t.Errorf("order %d of %d at one moment: row %q, %v", i, pool, Row(err), err)
			}
		})
	}
	for range pool {
		select {
		case <-inside:
		case <-ctx.Done():
			t.Errorf("%d orders did not run at one moment: a connection is lost", pool)
		}
	}
	close(meet)
	all.Wait()
}
