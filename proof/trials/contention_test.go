package trials

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/refrain-dev/refrain/proof/processes"
	"github.com/refrain-dev/refrain/sqlite"
)

const (
	workers = 50
	busy    = 5 * time.Second // the engine's default
)

// TestTwoProcessesUnderLoad: fifty workers send new and repeated keys to two
// processes on one file while a third party reads and cleans it. Nobody is told
// that the database is locked, no order is made twice, and the slowest percent
// stays below the busy timeout.
func TestTwoProcessesUnderLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shop.db")
	one, two := processes.Start(t, path), processes.Start(t, path)
	client := processes.NewClient(workers)
	ctx, stop := context.WithTimeout(t.Context(), time.Duration(processes.Size(2, 15, 90))*time.Second)
	defer stop()

	var mu sync.Mutex
	made := map[string]string{} // id by key
	var took []time.Duration
	work := func(worker int) error {
		for n := 0; ctx.Err() == nil; n++ {
			key := fmt.Sprintf("%d-%d", worker, n)
			if n%3 > 0 { // somebody else's, from about now
				key = fmt.Sprintf("%d-%d", (worker+n)%workers, n/3*3)
			}
			began := time.Now()
			a, err := client.Settle(context.WithoutCancel(ctx), []string{one.URL, two.URL}[n%2], processes.Order{Key: key, SKU: "BOOK-1", Quantity: 1})
			if err != nil {
				return err
			}
			id, _, err := a.Made()
			if err != nil || a.Kind() != processes.Success {
				return fmt.Errorf("%s was answered %s: %w", key, a, err)
			}
			mu.Lock()
			took = append(took, time.Since(began))
			known, again := made[key]
			made[key] = id
			mu.Unlock()
			if again && known != id {
				return fmt.Errorf("%s made %s and %s", key, known, id)
			}
		}
		return nil
	}
	var all sync.WaitGroup
	for worker := range workers {
		all.Go(func() {
			if err := work(worker); err != nil {
				t.Error(err)
				stop()
			}
		})
	}
	readings, cleanings := 0, 0
	all.Go(func() {
		for ; ctx.Err() == nil; readings++ {
			if _, err := processes.Command(context.WithoutCancel(ctx), processes.Program(t), "doctor", "--db", "sqlite:"+path); err != nil {
				t.Errorf("reading meanwhile: %v", err)
				stop()
			}
		}
	})
	all.Go(func() {
		cleaner, err := sqlite.Open(path)
		for ; err == nil && ctx.Err() == nil; cleanings++ {
			_, err = forget(context.WithoutCancel(ctx), cleaner)
		}
		if err = errors.Join(err, cleaner.Close(context.Background())); err != nil {
			t.Errorf("cleaning meanwhile: %v", err)
			stop()
		}
	})
	all.Wait()
	client.Close()
	one.Stop(t)
	two.Stop(t)
	effects, err := processes.Effects(t.Context(), path)
	if err != nil || len(effects) != len(made) || len(made) == 0 {
		t.Errorf("%d keys have effects, %d were answered: %v", len(effects), len(made), err)
	}
	for key, id := range made {
		if !slices.Equal(effects[key], []string{id}) {
			t.Errorf("%s: the file has %q, the clients were told %q", key, effects[key], id)
		}
	}
	slices.Sort(took)
	if len(took) == 0 || readings == 0 || cleanings == 0 {
		t.Fatal("the trial shows nothing")
	}
	p99 := took[len(took)*99/100]
	if p99 >= busy {
		t.Errorf("p99 is %v", p99)
	}
	t.Logf("%d answers for %d keys, p50 %v, p99 %v, max %v; meanwhile %d readings, %d cleanings",
		len(took), len(made), took[len(took)/2], p99, took[len(took)-1], readings, cleanings)
}
