package sqlite

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain checks that no test leaves a goroutine behind. The binary also plays
// the other process of tests that need a real one.
func TestMain(m *testing.M) {
	if path := os.Getenv("SQLITE_TEST_CHILD"); path != "" {
		child(path)
		return
	}
	goleak.VerifyTestMain(m)
}
