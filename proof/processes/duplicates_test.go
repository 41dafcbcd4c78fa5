package processes

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"
)

const (
	duplicates = 50                    // of one order, in one round
	window     = 50 * time.Millisecond // in which they are sent
)

// busy is the engine's default: how long a call waits for another process's
// transaction before it is refused.
const busy = 5 * time.Second

// TestDuplicatesOverTwoProcesses sends each order 50 times within 50 ms to two
// processes on one file. One client of each round gives up at some moment and
// sends its order again; one sends another order under the same key. Meanwhile
// the program's commands and a walk of the file read.
func TestDuplicatesOverTwoProcesses(t *testing.T) {
	for _, form := range []struct {
		name       string
		one, other []string
	}{
		{"grouped", nil, nil},
		{"impatient", []string{"--wait", "0s"}, []string{"--wait", "0s"}},
		{"slow", []string{"--effect-delay", "20ms"}, []string{"--effect-delay", "20ms", "--wait", "0s"}},
	} {
		t.Run(form.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "shop.db")
			h := &herd{t: t, path: path, random: Random(t), client: NewClient(duplicates)}
			one := Start(t, path, form.one...)
			other := Start(t, path, form.other...)
			h.urls = [2]string{one.URL, other.URL}

			readers := watch(t, path)
			rounds := Size(3, 20, 200)
			for n := 1; n <= rounds && !t.Failed(); n++ {
				h.round(n)
			}
			reads := readers()
			h.client.Close() // a server waits for connections that were never used
			one.Stop(t)
			other.Stop(t)
			h.report(rounds, reads)
		})
	}
}

// herd is the state of one form's rounds.
type herd struct {
	t      *testing.T
	path   string
	random *rand.Rand
	client *Client
	urls   [2]string

	made  map[string]string // order id by key
	kinds [Unavailable + 1]int
	fresh int // answers that did not say replayed
	gone  int // clients that gave up before their answer
	rival int // rounds the other order won
	took  []time.Duration
}

// sender is one client of a round: all its choices, made before it starts.
type sender struct {
	order   Order
	url     string
	after   time.Duration
	gives   time.Duration // up after this long, if positive
	retries string        // where it sends its order again
}

// sent is what became of one request.
type sent struct {
	order  Order
	answer Answer
	err    error
	took   time.Duration
}

func (h *herd) round(n int) {
	h.t.Helper()
	key := fmt.Sprintf("round-%d", n)
	order := Order{key, "BOOK-1", int64(n)}
	other := Order{key, "BOOK-1", int64(n) + 1}
	senders := make([]sender, duplicates+1)
	for i := range senders {
		senders[i] = sender{order: order, url: h.urls[i%2], after: Upto(h.random, window)}
	}
	senders[0].gives, senders[0].retries = Upto(h.random, window/2)+1, h.urls[h.random.IntN(2)]
	senders[duplicates].order = other

	results := h.send(senders)
	success := h.judge(key, results)
	if h.t.Failed() {
		return
	}
	h.settled(success, order, other)
	for _, url := range h.urls {
		if count, err := h.client.Count(h.t.Context(), url); err != nil || count != n {
			h.t.Errorf("%s: %d orders after %d rounds: %v", url, count, n, err)
		}
	}
}

// send lets every sender loose and returns all their answers.
func (h *herd) send(senders []sender) []sent {
	var all sync.WaitGroup
	var mu sync.Mutex
	var results []sent
	post := func(ctx context.Context, url string, o Order) error {
		began := time.Now()
		a, err := h.client.Post(ctx, url, o)
		mu.Lock()
		defer mu.Unlock()
		results = append(results, sent{o, a, err, time.Since(began)})
		return err
	}
	for _, s := range senders {
		all.Go(func() {
			<-time.After(s.after) // the jitter
			if s.gives == 0 {
				_ = post(h.t.Context(), s.url, s.order)
				return
			}
			ctx, cancel := context.WithTimeout(h.t.Context(), s.gives)
			defer cancel()
			if post(ctx, s.url, s.order) != nil { // its socket is closed now
				_ = post(h.t.Context(), s.retries, s.order)
			}
		})
	}
	all.Wait()
	return results
}

// judge demands that the answers of one round agree with one effect, and
// returns a success if there was one.
func (h *herd) judge(key string, results []sent) *Answer {
	h.t.Helper()
	var success *Answer
	fresh, gone := 0, 0
	for _, r := range results {
		if r.err != nil {
			gone++
			continue
		}
		h.took = append(h.took, r.took)
		kind := r.answer.Kind()
		h.kinds[kind]++
		switch kind {
		case Success:
			if !r.answer.Replayed() {
				fresh++
			}
			if success == nil {
				success = &r.answer
			}
			if diff := r.answer.Differs(*success); diff != "" {
				h.t.Errorf("%s: two successes differ: %s", key, diff)
			}
		case Wrong, Unavailable: // a healthy store is never too busy for this
			h.t.Errorf("%s was answered %s %v", key, r.answer, r.answer.Header)
		}
	}
	switch {
	case gone > 1:
		h.t.Errorf("%s: %d requests had no answer, one client gave up", key, gone)
	case fresh > 1, fresh == 0 && gone == 0:
		h.t.Errorf("%s: %d answers were fresh", key, fresh)
	}
	h.fresh, h.gone = h.fresh+fresh, h.gone+gone
	if success == nil {
		return nil
	}
	_, made, err := success.Made()
	if err != nil {
		h.t.Error(err)
	}
	for _, r := range results { // who ordered what was not made must not be told that it was, nor the reverse
		if own := (Order{SKU: r.order.SKU, Quantity: r.order.Quantity}) == made; r.err == nil && (own && r.answer.Kind() == Conflict || !own && r.answer.Kind() == Success) {
			h.t.Errorf("%s: %+v was made, %+v was answered %s", key, made, r.order, r.answer)
		}
	}
	return success
}

// settled asks both processes once more: the one order is replayed, the same
// bytes as before, and the other one is a conflict.
func (h *herd) settled(success *Answer, order, other Order) {
	h.t.Helper()
	for _, url := range h.urls {
		a, err := h.client.Post(h.t.Context(), url, order)
		if err == nil && a.Kind() == Conflict { // the other one won the race
			order, other = other, order
			h.rival++
			a, err = h.client.Post(h.t.Context(), url, order)
		}
		if err != nil || a.Kind() != Success || !a.Replayed() {
			h.t.Errorf("%s was answered %s afterwards: %v", order.Key, a, err)
			return
		}
		if success == nil {
			success = &a
		}
		if diff := a.Differs(*success); diff != "" {
			h.t.Errorf("%s: the answer changed afterwards: %s", order.Key, diff)
		}
		if a, err := h.client.Post(h.t.Context(), url, other); err != nil || a.Kind() != Conflict {
			h.t.Errorf("%s: another order was answered %s: %v", order.Key, a, err)
		}
	}
	id, _, err := success.Made()
	if err != nil {
		h.t.Error(err)
	}
	if h.made == nil {
		h.made = make(map[string]string)
	}
	h.made[order.Key] = id
}

// report compares the file with what the clients were told and prints the sums.
func (h *herd) report(rounds int, reads string) {
	h.t.Helper()
	census, err := Verify(h.t.Context(), h.path)
	if err != nil {
		h.t.Errorf("the file: %v", err)
	}
	effects, err := Effects(h.t.Context(), h.path)
	if err != nil {
		h.t.Error(err)
	}
	if census.Orders != rounds || len(effects) != rounds {
		h.t.Errorf("%d orders under %d keys in %d rounds", census.Orders, len(effects), rounds)
	}
	for key, id := range h.made {
		if !slices.Equal(effects[key], []string{id}) {
			h.t.Errorf("%s: the file has %q, the clients were told %q", key, effects[key], id)
		}
	}
	slices.Sort(h.took)
	if h.t.Failed() || len(h.took) == 0 {
		return
	}
	p99 := h.took[len(h.took)*99/100]
	if p99 >= busy {
		h.t.Errorf("p99 of %v is not below the busy timeout of %v", p99, busy)
	}
	h.t.Logf("%d rounds, %d answers: %d successes of which %d fresh, %d in progress, %d conflicts, 0 others; %d gave up unanswered, %d rounds won by the other order; p50 %v p99 %v max %v; %d orders, %d receipts; %s",
		rounds, len(h.took), h.kinds[Success], h.fresh, h.kinds[InProgress], h.kinds[Conflict], h.gone, h.rival,
		h.took[len(h.took)/2].Round(time.Millisecond), p99.Round(time.Millisecond), h.took[len(h.took)-1].Round(time.Millisecond),
		census.Orders, census.Receipts, reads)
}
