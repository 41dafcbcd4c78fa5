package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/refrain-dev/refrain/upkeep"
)

// benchRecords is how many records the benchmarks reap: REAP_RECORDS, or 20,000.
func benchRecords(b *testing.B) int {
	if text := os.Getenv("REAP_RECORDS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			b.Fatal(err)
		}
		return n
	}
	return 20_000
}

// filled is a shop with n records that were made one after the other, a
// millisecond apart, with bodies of body bytes.
func filled(b testing.TB, n, body int) (*DB, *handClock) {
	b.Helper()
	clock := new(handClock)
	clock.set(time.Now().Add(-24 * time.Hour))
	db := openAt(b, filepath.Join(b.TempDir(), "shop.db"), Options{Now: clock.now})
	if err := db.Register(b.Context(), contract); err != nil {
		b.Fatal(err)
	}
	for made := 0; made < n; {
		err := db.writing(b.Context(), func(ctx context.Context, s *session) error {
			for range min(10_000, n-made) {
				made++
				clock.pass(time.Millisecond)
				claim, err := call(uuid7(clock.now(), made)).Claim()
				if err != nil {
					return err
				}
				rec := claim.Begin(clock.now())
				settled(claim, rec)
				rec.Result.Header, rec.Result.Body = [][2]string{{"Content-Type", "application/json"}, {"Location", "/orders/1"}}, make([]byte, body)
				if err := insert(ctx, s.run, rec, claim.Hash); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	return db, clock
}

// reapAll runs batches until nothing is due.
func reapAll(b *testing.B, db *DB) (sum upkeep.Reaped, took []time.Duration) {
	b.Helper()
	for sum.More = true; sum.More; {
		started := time.Now()
		done, err := db.Reap(b.Context(), upkeep.Reap{})
		if err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(started))
		sum.Looked, sum.Trimmed, sum.Forgotten, sum.More = sum.Looked+done.Looked, sum.Trimmed+done.Trimmed, sum.Forgotten+done.Forgotten, done.More
	}
	slices.Sort(took)
	return sum, took
}

// pages is how many bytes of the file hold something.
func pages(b testing.TB, db *DB) (used int) {
	b.Helper()
	err := db.Reader().QueryRow(`SELECT (p.page_count - f.freelist_count) * s.page_size FROM pragma_page_count() p, pragma_freelist_count() f, pragma_page_size() s`).Scan(&used)
	if err != nil {
		b.Fatal(err)
	}
	return used
}

// BenchmarkReap prints what a record costs on disk before and after its result is
// trimmed, and how fast reaping is.
func BenchmarkReap(b *testing.B) {
	n := benchRecords(b)
	for _, body := range []int{0, 200, 2000} {
		b.Run(fmt.Sprintf("body=%d", body), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				db, clock := filled(b, n, body)
				full := pages(b, db)
				clock.pass(2 * time.Minute)
				b.StartTimer()
				phase := func(name string) {
					started := time.Now()
					done, took := reapAll(b, db)
					b.ReportMetric(float64(done.Looked)/time.Since(started).Seconds(), name+"/s")
					b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, name+"-ms")
				}
				phase("survey")
				clock.pass(contract.ReplayFor)
				phase("trim")
				trimmed := pages(b, db)
				clock.pass(contract.RememberFor)
				phase("forget")
				empty := pages(b, db)
				b.ReportMetric(float64(full-empty)/float64(n), "B/record")
				b.ReportMetric(float64(trimmed-empty)/float64(n), "B/tombstone")
			}
		})
	}
}

// BenchmarkBesideReaper prints the latency of live calls with a reaper beside them
// and without.
func BenchmarkBesideReaper(b *testing.B) {
	n := benchRecords(b)
	for b.Loop() {
		b.StopTimer()
		db, clock := filled(b, n, 200)
		clock.pass(3 * time.Hour)
		b.StartTimer()
		alone := live(b, db, clock, "alone", func(context.Context) error { return nil })
		var total upkeep.Reaped
		beside := live(b, db, clock, "beside", func(ctx context.Context) error {
			r := upkeep.Reaper{Store: db, Observe: func(p upkeep.Progress) { total = p.Total }}
			return r.Run(ctx)
		})
		b.ReportMetric(alone.Seconds()*1000, "alone-p99-ms")
		b.ReportMetric(beside.Seconds()*1000, "beside-p99-ms")
		b.ReportMetric(beside.Seconds()/alone.Seconds(), "÷")
		b.ReportMetric(float64(total.Looked), "reaped")
	}
}

// live makes calls of four callers for a while and returns their p99.
func live(b *testing.B, db *DB, clock *handClock, name string, beside func(context.Context) error) time.Duration {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), 5*time.Second)
	defer cancel()
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := beside(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			b.Error(err)
		}
	})
	var took [4][]time.Duration
	for i := range took {
		wg.Go(func() {
			for k := 0; ctx.Err() == nil; k++ {
				started := time.Now()
				if err := run(db, call(fmt.Sprint(name, i, "-", k)), put("live")); err != nil {
					b.Error(err)
				}
				took[i] = append(took[i], time.Since(started))
			}
		})
	}
	wg.Wait()
	all := slices.Concat(took[:]...)
	slices.Sort(all)
	b.ReportMetric(float64(len(all))/5, name+"-calls/s")
	return all[len(all)*99/100]
}
