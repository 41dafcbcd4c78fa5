package storetest

import (
	"time"

	"github.com/refrain-dev/refrain/upkeep"
)

// incarnationAdvances: the counter rises by one for each call, whoever asks, and
// the store stays the one it is.
func incarnationAdvances[T any](f *fixture[T]) {
	read := func() upkeep.Incarnation {
		f.t.Helper()
		is, err := f.retentionOf(f.connect()).Incarnation(f.ctx)
		if err != nil || is.Store == "" || !is.At.Equal(f.clock.Now()) {
			f.t.Fatalf("Incarnation = %+v, %v", is, err)
		}
		return is
	}
	first := read()
	if again := read(); again != first {
		f.t.Errorf("reading made %+v of %+v", again, first)
	}
	const n = 8
	var all [n]<-chan int64
	through := []*Harness[T]{f.Harness, f.connect()}
	for i := range all {
		all[i] = background(func() int64 {
			is, err := f.retentionOf(through[i%2]).Advance(f.ctx)
			if err != nil || is.Store != first.Store || is.Epoch != first.Epoch {
				f.t.Errorf("Advance = %+v, %v", is, err)
			}
			return is.Counter
		})
	}
	seen := make(map[int64]bool)
	for _, ch := range all {
		seen[await(f.t, ch, "Advance")] = true
	}
	f.clock.advance(-time.Hour)
	last := read()
	if len(seen) != n || !seen[first.Counter+n] || last.Counter != first.Counter+n || !last.Reaches(first) || first.Reaches(last) {
		f.t.Errorf("from %+v to %+v by %v", first, last, seen)
	}
}
