package crash

import (
	"os"
	"testing"

	"github.com/refrain-dev/refrain/proof/processes"
)

// TestMain runs the tests, or the victim where a test started this binary as one.
func TestMain(m *testing.M) {
	if point := os.Getenv(pointVariable); point != "" {
		os.Exit(victim(point, os.Args[len(os.Args)-1]))
	}
	os.Exit(processes.Main(m))
}
