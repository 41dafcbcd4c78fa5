package measure

import (
	"testing"
	"time"
)

func TestBucketWidth(t *testing.T) {
	t.Parallel()
	last := -1
	for _, v := range []uint64{0, 1, 63, 64, 65, 127, 128, 130, 1000, 4095, 4096, 1e6, 1e9, 3_600e9, 1<<63 - 1} {
		i := bucket(v)
		low, next := lowerBound(i), lowerBound(i+1)
		if low > v || next <= v {
			t.Errorf("bucket of %d is [%d, %d)", v, low, next)
		}
		if (next-low)*64 > max(low, 64) {
			t.Errorf("bucket of %d is %d wide, more than 1/64 of %d", v, next-low, low)
		}
		if i <= last {
			t.Errorf("bucket of %d is %d, not above %d", v, i, last)
		}
		last = i
	}
}

func TestHistogramQuantile(t *testing.T) {
	t.Parallel()
	var low, all Histogram
	if got := all.Quantile(0.5); got != 0 {
		t.Errorf("median of nothing is %v", got)
	}
	for i := range 50 {
		low.Observe(time.Duration(i))
		all.Observe(time.Duration(50 + i))
	}
	all.Observe(-time.Second)
	all.Add(&low)
	for _, c := range []struct {
		q    float64
		want time.Duration
	}{{0, 0}, {0.5, 49}, {0.99, 98}, {1, 99}} {
		got := all.Quantile(c.q)
		if got < c.want-c.want/64 || got > c.want {
			t.Errorf("quantile %v is %d, want %d less a bucket at most", c.q, got, c.want)
		}
	}
}
