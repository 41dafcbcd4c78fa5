package crash

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/refrain-dev/refrain/proof/processes"
)

const (
	clients   = 8      // each sends its next order when the last one is answered
	maxOrders = 10_000 // of one client in one life of the process
	maxAcked  = 100    // answers after which a process is killed at the latest
)

// intent is one order a client wants, and the first complete answer to it.
type intent struct {
	order    processes.Order
	answered bool
	refused  bool // told that nothing was executed
	answer   processes.Answer
}

// TestKillUnderLoad kills the process at random moments. After each restart
// everything that was acknowledged is replayed with the same bytes; everything
// else is replayed or made now; and no order is there twice, or without need.
func TestKillUnderLoad(t *testing.T) {
	random := processes.Random(t)
	path := filepath.Join(t.TempDir(), "shop.db")
	kills := processes.Size(2, 6, 50)
	var all []*intent
	var sum struct{ acked, replayed, made int }
	for life := range kills {
		url, kill := live(t, path, life)
		lived := load(t, random, life, url, kill)
		all = append(all, lived...)

		demo := processes.Start(t, path)
		client := processes.NewClient(1)
		for _, in := range lived {
			if in.answered {
				sum.acked++
			} else if retry(t, client, demo.URL, in); in.answer.Replayed() {
				sum.replayed++
				if in.refused {
					t.Errorf("%s was refused as not executed and is there", in.order.Key)
				}
			} else {
				sum.made++
			}
			replay(t, client, demo.URL, in)
		}
		client.Close()
		demo.Stop(t)
		if t.Failed() {
			t.Fatalf("after kill %d", life+1)
		}
		census, err := processes.Verify(t.Context(), path)
		if err != nil || census.Orders != len(all) || census.Receipts != len(all) {
			t.Fatalf("after kill %d: %d keys, %+v, %v", life+1, len(all), census, err)
		}
	}
	final(t, path, all)
	if sum.acked == 0 {
		t.Error("nothing was acknowledged before a kill")
	}
	t.Logf("%d kills, %d keys: %d acknowledged before the kill and replayed with the same bytes; of %d without an answer %d had committed and were replayed, %d were made by the retry; %d orders and receipts, integrity_check ok",
		kills, len(all), sum.acked, sum.replayed+sum.made, sum.replayed, sum.made, len(all))
}

// live runs the process; in every other life its effects are slow and commit alone.
func live(t *testing.T, path string, life int) (url string, kill func()) {
	t.Helper()
	var args []string
	if life%2 == 1 {
		args = []string{"--effect-delay", "2ms"}
	}
	demo := processes.Start(t, path, args...)
	return demo.URL, func() { demo.Kill(t) }
}

// load lets the clients order until the process is killed and returns what they
// wanted. The moment is a number of answers and some time after it.
func load(t *testing.T, random *rand.Rand, life int, url string, kill func()) []*intent {
	t.Helper()
	after, grace := random.Int64N(maxAcked), processes.Upto(random, 8*time.Millisecond)
	reached := make(chan struct{})
	var acked, unavailable atomic.Int64
	count := func() {
		if acked.Add(1) == after+1 {
			close(reached)
		}
	}
	client := processes.NewClient(clients)
	defer client.Close()
	var wanted [clients][]*intent
	var all sync.WaitGroup
	for c := range clients {
		all.Go(func() {
			for n := range maxOrders {
				in := &intent{order: processes.Order{Key: fmt.Sprintf("life-%d-client-%d-%d", life, c, n), SKU: "BOOK-1", Quantity: int64(n + 1)}}
				wanted[c] = append(wanted[c], in)
				a, err := client.Post(t.Context(), url, in.order)
				if err != nil {
					return // the process is gone; this order's fate is not known
				}
				if a.Kind() == processes.Unavailable { // a stalled disk; the order is sent again after the kill
					in.refused = true
					unavailable.Add(1)
					continue
				}
				if a.Kind() != processes.Success || a.Replayed() {
					t.Errorf("the fresh order %s was answered %s", in.order.Key, a)
				}
				in.answered, in.answer = true, a
				count()
			}
			t.Error("the process outlived its load")
		})
	}
	select {
	case <-reached:
	case <-time.After(time.Minute):
		t.Errorf("%d answers in a minute", acked.Load())
	}
	<-time.After(grace) // not a wait for anything: where in its work the process is hit
	kill()
	all.Wait()
	if n := unavailable.Load(); n > 0 {
		t.Logf("life %d: %d orders were refused, the store was unavailable", life, n)
	}
	return slices.Concat(wanted[:]...)
}

// retry sends an order whose answer was lost.
func retry(t *testing.T, client *processes.Client, url string, in *intent) {
	t.Helper()
	a, err := client.Post(t.Context(), url, in.order)
	if err != nil || a.Kind() != processes.Success {
		t.Errorf("the retry of %s was answered %s: %v", in.order.Key, a, err)
	}
	in.answered, in.answer = true, a
}

// replay sends an answered order again.
func replay(t *testing.T, client *processes.Client, url string, in *intent) {
	t.Helper()
	a, err := client.Post(t.Context(), url, in.order)
	if err != nil || a.Kind() != processes.Success || !a.Replayed() {
		t.Errorf("%s was answered and is now answered %s: %v", in.order.Key, a, err)
		return
	}
	if diff := a.Differs(in.answer); diff != "" {
		t.Errorf("%s: the answer changed: %s", in.order.Key, diff)
	}
}

// final replays everything once more and compares it with the file.
func final(t *testing.T, path string, all []*intent) {
	t.Helper()
	demo := processes.Start(t, path)
	client := processes.NewClient(1)
	for _, in := range all {
		replay(t, client, demo.URL, in)
	}
	if n, err := client.Count(t.Context(), demo.URL); err != nil || n != len(all) {
		t.Errorf("the process counts %d orders of %d keys: %v", n, len(all), err)
	}
	client.Close()
	demo.Stop(t)
	effects, err := processes.Effects(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	for _, in := range all {
		id, made, err := in.answer.Made()
		if err != nil || made != (processes.Order{SKU: in.order.SKU, Quantity: in.order.Quantity}) {
			t.Errorf("%s ordered %+v, was told %+v: %v", in.order.Key, in.order, made, err)
		}
		if got := effects[in.order.Key]; !slices.Equal(got, []string{id}) {
			t.Errorf("%s: the file has %q, the client was told %q", in.order.Key, got, id)
		}
	}
}

// TestKillWhileStarting kills processes that begin on a new file: whatever the
// migration was at, the next start finds nothing or all of it.
func TestKillWhileStarting(t *testing.T) {
	random := processes.Random(t)
	ctx := context.WithoutCancel(t.Context())
	kills := processes.Size(2, 10, 50)
	for n := range kills {
		path := filepath.Join(t.TempDir(), "shop.db")
		demo := processes.Launch(t, path)
		<-time.After(processes.Upto(random, 40*time.Millisecond)) // where it is hit
		demo.Kill(t)

		demo = processes.Start(t, path)
		client := processes.NewClient(1)
		in := &intent{order: processes.Order{Key: "key", SKU: "BOOK-1", Quantity: 1}}
		retry(t, client, demo.URL, in)
		replay(t, client, demo.URL, in)
		client.Close()
		demo.Stop(t)
		if census, err := processes.Verify(ctx, path); err != nil || census.Orders != 1 {
			t.Fatalf("kill %d: %+v, %v", n+1, census, err)
		}
	}
	t.Logf("%d kills of a process that starts on a new file, each followed by a sound start", kills)
}
