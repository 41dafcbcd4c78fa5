//go:build linux

package charges

import (
	"testing"
	"time"

	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/proof/processes"
)

// TestRealMinute pauses a worker between its gate and its first byte with the
// leases and the margin of production: for as good as the margin, and for longer
// than the bank's window.
func TestRealMinute(t *testing.T) {
	if processes.Size(0, 0, 1) == 0 {
		t.Skip("skipped: REFRAIN_PROOF is not full")
	}
	for name, pause := range map[string]time.Duration{
		"inside the margin": operation.DefaultMargin - time.Second/2,
		"beyond the window": 140 * time.Second,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newTrial(t, nil, kindOf("dedupes and can be asked"), 1, func(s *setting) {
				s.Lease, s.Margin, s.Window = 30*time.Second, operation.DefaultMargin, 100*time.Second
			})
			o := &order{key: "key", account: "account"}
			x.orders = append(x.orders, o)
			w := x.stopBehindGate(pause, o)
			x.check(w)
			w.stop()
			t.Logf("paused %v: %s", x.paused.Round(time.Millisecond), x.seen)
		})
	}
}
