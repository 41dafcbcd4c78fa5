package record

import (
	"math"
	"testing"
	"time"
)

func TestBackoff(t *testing.T) {
	t.Parallel()
	tests := []struct {
		base, limit time.Duration
		attempt     int
		full        time.Duration
	}{
		{5 * time.Millisecond, 200 * time.Millisecond, 0, 5 * time.Millisecond},
		{5 * time.Millisecond, 200 * time.Millisecond, 1, 10 * time.Millisecond},
		{5 * time.Millisecond, 200 * time.Millisecond, 5, 160 * time.Millisecond},
		{5 * time.Millisecond, 200 * time.Millisecond, 6, 200 * time.Millisecond},
		{5 * time.Millisecond, 200 * time.Millisecond, math.MaxInt, 200 * time.Millisecond},
		{time.Second, time.Minute, -3, time.Second},
		{time.Hour, time.Minute, 0, time.Minute},
		{1<<34 + 1, 10 * time.Minute, 30, 10 * time.Minute}, // the product leaves 64 bits
		{time.Nanosecond, math.MaxInt64, 62, 1 << 62},
		{time.Nanosecond, math.MaxInt64, 63, 1 << 62},
		{time.Second, 0, 3, 0},
	}
	for _, tt := range tests {
		least, most := time.Duration(math.MaxInt64), time.Duration(0)
		for range 200 {
			d := Backoff(tt.base, tt.limit, tt.attempt)
			least, most = min(least, d), max(most, d)
		}
		if least < tt.full-tt.full/2 || most > tt.full {
			t.Errorf("Backoff(%v, %v, %d) is within %v and %v, want half to all of %v",
				tt.base, tt.limit, tt.attempt, least, most, tt.full)
		}
		if tt.full >= time.Millisecond && least == most {
			t.Errorf("Backoff(%v, %v, %d) has no jitter", tt.base, tt.limit, tt.attempt)
		}
	}
}

func TestStrikeDelay(t *testing.T) {
	t.Parallel()
	tests := []struct {
		maxExecution time.Duration
		strikes      int
		want         time.Duration
	}{
		{30 * time.Second, 1, 15 * time.Second},
		{30 * time.Second, 2, 30 * time.Second},
		{30 * time.Second, 4, 2 * time.Minute},
		{5 * time.Minute, 3, 10 * time.Minute},
		{24 * time.Hour, 1, 10 * time.Minute},
		{24 * time.Hour, 1000, 10 * time.Minute},
		{time.Second, 1, time.Second}, // Retry-After has whole seconds
		{time.Millisecond, 2, time.Second},
	}
	for _, tt := range tests {
		if got := strikeDelay(tt.maxExecution, tt.strikes); got != tt.want {
			t.Errorf("strikeDelay(%v, %d) = %v, want %v", tt.maxExecution, tt.strikes, got, tt.want)
		}
	}
}
