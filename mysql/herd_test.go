package mysql

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/refrain-dev/refrain"
)

// The first of each herd fails after it wrote. The others, each an engine of its
// own as in processes of their own, then meet: no deadlock reaches any of them,
// and one effect commits.
func TestHerdsFirstFails(t *testing.T) {
	herds := 15
	if os.Getenv("REFRAIN_PROOF") == "full" {
		herds = 150
	}
	for name, opts := range map[string]Options{"lock": {}, "no lock": {NoLock: true}} {
		t.Run(name, func(t *testing.T) {
			s := newShop(t)
			engines := make([]*DB, 16)
			for i := range engines {
				o := opts
				o.Connections = 1
				engines[i] = opened(t, s.cfg, o)
			}
			failed := errors.New("the first fails")
			for herd := range herds {
				key := fmt.Sprint("herd ", herd)
				var first atomic.Bool
				var all sync.WaitGroup
				for _, db := range engines {
					all.Go(func() {
						err := run(db, key, func(ctx context.Context, tx Tx) (refrain.Result, error) {
							mine := first.CompareAndSwap(false, true)
							result, err := buys(key)(ctx, tx)
							if err == nil && mine {
								err = failed
							}
							return result, err
						})
						if err != nil && !errors.Is(err, failed) {
							t.Errorf("%s: %v", key, err)
						}
					})
				}
				all.Wait()
			}
			if got := column(t, s.raw, `SELECT count(*) FROM effects`)[0]; got != fmt.Sprint(herds) {
				t.Errorf("%s effects, want %d", got, herds)
			}
			s.receipts(t, herds)
		})
	}
}

// Duplicates wait without a connection: 64 of them leave the pool to the others.
func TestPoolOfFour(t *testing.T) {
	s := newShop(t)
	db := opened(t, s.cfg, Options{Connections: 4})
	running, release := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		err := run(db, "slow", func(ctx context.Context, tx Tx) (refrain.Result, error) {
			close(running)
			<-release
			return buys("slow")(ctx, tx)
		})
		if err != nil {
			t.Error(err)
		}
	})
	await(t, running, "the first")
	duplicate := order("slow")
	duplicate.Contract.Wait = patience
	for range 63 {
		all.Go(func() {
			if out, err := db.Execute(context.Background(), duplicate, buys("again")); err != nil || !out.Replayed {
				t.Errorf("a duplicate: %+v, %v", out, err)
			}
		})
	}
	for i := range 20 {
		if err := run(db, fmt.Sprint("other ", i), buys("other")); err != nil {
			t.Error(err)
		}
	}
	close(release)
	all.Wait()
	if got := column(t, s.raw, `SELECT count(*) FROM effects WHERE id IN ('slow', 'again')`)[0]; got != "1" {
		t.Errorf("%s effects of the herd", got)
	}
}
