package processes

import (
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"
)

// TestMixedLoad lets 50 workers send fresh and repeated orders to two processes
// on one file, as fast as they are answered, while the program's commands read.
func TestMixedLoad(t *testing.T) {
	const workers, perKey = 50, 4
	requests := Size(400, 4_000, 40_000)
	random := Random(t)
	path := filepath.Join(t.TempDir(), "shop.db")
	one, other := Start(t, path, "--wait", "30s"), Start(t, path, "--wait", "30s")
	urls := [...]string{one.URL, other.URL}
	readers := watch(t, path)

	type request struct {
		key int
		url string
	}
	queue := make(chan request, requests)
	keys := requests / perKey
	for range requests {
		queue <- request{random.IntN(keys), urls[random.IntN(2)]}
	}
	close(queue)

	var mu sync.Mutex
	first := make(map[int]Answer) // by key
	var took []time.Duration
	fresh := 0
	client := NewClient(workers)
	began := time.Now()
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for r := range queue {
				sent := time.Now()
				a, err := client.Post(t.Context(), r.url, Order{fmt.Sprintf("key-%d", r.key), "BOOK-1", int64(r.key + 1)})
				answered := time.Since(sent)
				if err != nil || a.Kind() != Success {
					t.Errorf("key %d was answered %s after %v: %v", r.key, a, answered, err)
					continue
				}
				mu.Lock()
				took = append(took, answered)
				if known, ok := first[r.key]; !ok {
					first[r.key] = a
				} else if diff := a.Differs(known); diff != "" {
					t.Errorf("key %d: two answers differ: %s", r.key, diff)
				}
				if !a.Replayed() {
					fresh++
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	lasted := time.Since(began)
	reads := readers()
	client.Close()
	one.Stop(t)
	other.Stop(t)

	census, err := Verify(t.Context(), path)
	if err != nil || census.Orders != len(first) || fresh != len(first) {
		t.Errorf("%d keys, %d fresh answers, %+v: %v", len(first), fresh, census, err)
	}
	if t.Failed() {
		return
	}
	slices.Sort(took)
	p99 := took[len(took)*99/100]
	if p99 >= busy {
		t.Errorf("p99 of %v is not below the busy timeout of %v", p99, busy)
	}
	t.Logf("%d requests of %d keys in %v: %d fresh, all others replayed with the same bytes, 0 refused; p50 %v p99 %v max %v; %s",
		len(took), len(first), lasted.Round(time.Second), fresh, took[len(took)/2].Round(time.Millisecond),
		p99.Round(time.Millisecond), took[len(took)-1].Round(time.Millisecond), reads)
}
