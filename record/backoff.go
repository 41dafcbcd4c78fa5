package record

import (
	"math/rand/v2"
	"time"
)

// Backoff is the retry curve: base doubled per attempt (counted from 0), cut at
// limit, then jittered down by up to a half so that losers of one race do not
// meet again.
func Backoff(base, limit time.Duration, attempt int) time.Duration {
	shift := min(max(attempt, 0), 62)
	d := limit
	if base <= limit>>shift { // else the shift could overflow
		d = base << shift
	}
	return d - time.Duration(rand.Int64N(int64(d/2)+1))
}

// Strikes of one identity after which retries are called useless (row 14).
const maxStrikes = 5

// strikeDelay is row 14's Retry-After: MaxExecution/2, doubled per strike, at
// most ten minutes.
func strikeDelay(maxExecution time.Duration, strikes int) time.Duration {
	d := maxExecution / 2 << min(max(strikes-1, 0), maxStrikes)
	return max(min(d, 10*time.Minute), time.Second)
}
