package measure

import (
	"math/bits"
	"time"
)

// subBits is the number of bits kept below the leading one, so a bucket is
// at most 1/64 (1.6 %) wide.
const subBits = 6

// Histogram counts durations in buckets 1.6 % wide or narrower. Its size is
// fixed, so observing allocates nothing and does not disturb the measured
// program's allocation counts. The zero value is empty and ready.
type Histogram struct {
	counts [(64 - subBits + 1) << subBits]uint32
	total  uint64
}

// Observe adds one duration; a negative one counts as zero.
func (h *Histogram) Observe(d time.Duration) {
	h.counts[bucket(uint64(max(d, 0)))]++
	h.total++
}

// Add adds every observation of other.
func (h *Histogram) Add(other *Histogram) {
	for i, n := range other.counts {
		h.counts[i] += n
	}
	h.total += other.total
}

// Quantile is the lower bound of the bucket that holds the observation at the
// share q (0..1) of all, counted from the shortest; zero when nothing was
// observed.
func (h *Histogram) Quantile(q float64) time.Duration {
	if h.total == 0 {
		return 0
	}
	rank := max(uint64(q*float64(h.total)+0.5), 1)
	var seen uint64
	for i, n := range h.counts {
		seen += uint64(n)
		if seen >= rank {
			return time.Duration(lowerBound(i))
		}
	}
	return time.Duration(lowerBound(len(h.counts) - 1))
}

func bucket(v uint64) int {
	if v < 1<<subBits {
		return int(v)
	}
	shift := bits.Len64(v) - subBits - 1
	return (shift+1)<<subBits + int(v>>shift) - 1<<subBits
}

func lowerBound(i int) uint64 {
	if i < 1<<subBits {
		return uint64(i)
	}
	shift := i>>subBits - 1
	return uint64(i&(1<<subBits-1)+1<<subBits) << shift
}
