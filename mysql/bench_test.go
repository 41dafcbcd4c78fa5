package mysql

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
)

// BenchmarkExecute compares a fresh call with the bare transaction of the same
// effect, BEGIN, INSERT, COMMIT, in turns on the same server: ratio is how much
// of the bare speed is kept.
func BenchmarkExecute(b *testing.B) {
	for _, callers := range []int{1, 8, 64} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			s := newShop(b)
			db := opened(b, s.cfg, Options{Connections: 32})
			bareCfg := s.cfg.Clone()
			bareCfg.InterpolateParams = true
			pool := poolOf(b, bareCfg)
			pool.SetMaxOpenConns(32)
			pool.SetMaxIdleConns(32)
			bare := func() error { return bareEffect(pool) }
			ours := func() error { return fresh(db) }
			var spent [2]time.Duration
			const rounds = 4
			for b.Loop() {
				for range rounds {
					for i, work := range []func() error{bare, ours} {
						spent[i] += inParallel(b, callers, 100*max(2, callers/4), work)
					}
				}
			}
			b.ReportMetric(spent[0].Seconds()/spent[1].Seconds(), "ratio")
			n := float64(b.N * rounds * 200 * max(1, callers/4))
			b.ReportMetric(n/spent[1].Seconds(), "ours/s")
			b.ReportMetric(n/spent[0].Seconds(), "bare/s")
		})
	}
}

const effectSQL = `INSERT INTO effects (id) VALUES (?)`

func bareEffect(pool *sql.DB) error {
	tx, err := pool.Begin()
	if err != nil {
		return err
	}
	if _, err := tx.Exec(effectSQL, "tea"); err != nil {
		return err
	}
	return tx.Commit()
}

func fresh(db *DB) error {
	_, err := db.Execute(context.Background(), order(rand.Text()), func(ctx context.Context, tx Tx) (refrain.Result, error) {
		_, err := tx.ExecContext(ctx, effectSQL, "tea")
		return refrain.Result{Status: 201, Body: []byte(`{"ok":true}`)}, err
	})
	return err
}

// inParallel runs work n times by so many callers and returns how long that took.
func inParallel(b *testing.B, callers, n int, work func() error) time.Duration {
	b.Helper()
	var left atomic.Int64
	left.Store(int64(n))
	var all sync.WaitGroup
	started := time.Now()
	for range callers {
		all.Go(func() {
			for left.Add(-1) >= 0 {
				if err := work(); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	return time.Since(started)
}
