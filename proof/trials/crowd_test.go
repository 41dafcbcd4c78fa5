package trials

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/refrain-dev/refrain/proof/engines"
	"github.com/refrain-dev/refrain/proof/processes"
	"github.com/refrain-dev/refrain/upkeep"
)

// TestTwoProcessesOnAServer: workers send new and repeated keys to two processes
// on one schema while a third party reads and cleans it. Nobody is told of a lock,
// a deadlock or a lost race, no order is made twice, and the slowest percent stays
// below the time an engine waits for its server.
func TestTwoProcessesOnAServer(t *testing.T) {
	eachServer(t, func(t *testing.T, room *engines.Shop) {
		urls := []string{startChild(t, room), startChild(t, room)}
		store := connect(t, room, session{busy: patient})
		client := &shop{t: t, http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: workers}}}
		defer client.http.CloseIdleConnections()
		ctx, stop := context.WithTimeout(t.Context(), time.Duration(processes.Size(2, 15, 90))*time.Second)
		defer stop()

		var mu sync.Mutex
		told := map[string]string{} // the answer by key
		var took []time.Duration
		work := func(worker int) error {
			for n := 0; ctx.Err() == nil; n++ {
				key := fmt.Sprintf("%d-%d", worker, n)
				if n%3 > 0 { // somebody else's, from about now
					key = fmt.Sprintf("%d-%d", (worker+n)%workers, n/3*3)
				}
				began := time.Now()
				a, err := client.settle(t.Context(), urls[n%2], key)
				if err != nil || a.status != http.StatusCreated {
					return fmt.Errorf("%s was answered %v, %w", key, a, err)
				}
				mu.Lock()
				took = append(took, time.Since(began))
				known, again := told[key]
				told[key] = a.header.Get("Location") + " " + a.body
				mu.Unlock()
				if again && known != a.header.Get("Location")+" "+a.body {
					return fmt.Errorf("%s was answered %s and %v", key, known, a)
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
				if _, _, err := store.Oldest(t.Context(), upkeep.Query{State: "confirmed", Limit: 100}); err != nil {
					t.Errorf("reading meanwhile: %v", err)
					stop()
				}
			}
		})
		all.Go(func() {
			for ; ctx.Err() == nil; cleanings++ {
				if _, err := forget(t.Context(), store); err != nil {
					t.Errorf("cleaning meanwhile: %v", err)
					stop()
				}
			}
		})
		all.Wait()
		found, err := room.Orders(t.Context())
		if err != nil || len(found) != len(told) || len(told) == 0 {
			t.Errorf("%d keys have orders, %d were answered: %v", len(found), len(told), err)
		}
		for key, answer := range told {
			if want := "/orders/" + found[key].Ref + " " + found[key].Token; answer != want {
				t.Errorf("%s: the table has %q, the clients were told %q", key, want, answer)
			}
		}
		slices.Sort(took)
		if len(took) == 0 || readings == 0 || cleanings == 0 {
			t.Fatal("the trial shows nothing")
		}
		p99 := took[len(took)*99/100]
		if p99 >= patient {
			t.Errorf("p99 is %v", p99)
		}
		t.Logf("%d answers for %d keys, p50 %v, p99 %v, max %v; meanwhile %d readings, %d cleanings",
			len(took), len(told), took[len(took)/2], p99, took[len(took)-1], readings, cleanings)
	})
}

// settle sends the order until it is answered another way than in-progress.
func (s *shop) settle(ctx context.Context, url, key string) (answer, error) {
	one := *s
	one.url = url
	for {
		a, err := one.try(one.request(ctx, key, order))
		if err != nil || a.problem() != "in-progress" {
			return a, err
		}
	}
}
