package processes

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"
)

// Size is how much of a proof this run does: small without REFRAIN_PROOF, full
// where it is "full", else short.
func Size(small, short, full int) int {
	switch os.Getenv("REFRAIN_PROOF") {
	case "":
		return small
	case "full":
		return full
	}
	return short
}

// Heavy skips a proof that takes long where REFRAIN_PROOF is not set.
func Heavy(t *testing.T) {
	t.Helper()
	if Size(0, 1, 1) == 0 {
		t.Skip("skipped: REFRAIN_PROOF is not set")
	}
}

// Random is a source of choices, seeded by REFRAIN_SEED or the clock. The seed
// is printed.
func Random(t *testing.T) *rand.Rand {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("REFRAIN_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("REFRAIN_SEED: %v", err)
		}
	}
	t.Logf("REFRAIN_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// Upto is a random duration below limit, in microseconds.
func Upto(random *rand.Rand, limit time.Duration) time.Duration {
	return time.Duration(random.Int64N(limit.Microseconds())) * time.Microsecond
}
