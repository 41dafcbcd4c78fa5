//go:build linux

package cuts

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/proof/engines"
	"github.com/refrain-dev/refrain/proof/processes"
	"github.com/refrain-dev/refrain/proof/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	workers = 6
	pool    = 4
	far     = 30_000 // bytes: some calls of every worker
	near    = 1500   // bytes: within the call under way
	tries   = 1000   // of one order
	// patience bounds the wait for a cut: the traffic must reach its byte.
	patience = 20 * time.Second
)

func TestCuts(t *testing.T) {
	for _, kind := range engines.Kinds {
		t.Run(kind.Name, func(t *testing.T) {
			cutting(t, kind, processes.Size(25, 100, 1000))
		})
	}
}

// answer is what a worker was told at last, after so many refusals.
type answer struct {
	key     string
	out     refrain.Outcome
	first   int      // number of the first try
	refused []string // rows, by try
}

func cutting(t *testing.T, kind engines.Kind, cuts int) {
	random := processes.Random(t)
	shop := engines.NewShop(t, kind, engines.Shared(t, kind))
	match := wire.Postgres
	if kind.MySQL {
		match = wire.MySQL
	}
	proxy := wire.New(t, shop.Addr(), match)
	engine := shop.Open(t, proxy.Addr(), pool)

	stop := make(chan struct{})
	halt := sync.OnceFunc(func() { close(stop) })
	answers := make([][]answer, workers)
	var all sync.WaitGroup
	for w := range workers {
		own := rand.New(rand.NewPCG(random.Uint64(), 0))
		all.Go(func() { answers[w] = work(t, engine, own, w, stop) })
	}
	t.Cleanup(func() { halt(); all.Wait() })
	commits := 0
	for n := range cuts {
		if n%5 == 4 {
			commits++
			cutCommit(t, proxy, random)
		} else {
			cutAnywhere(t, proxy, random)
		}
	}
	halt()
	all.Wait()
	engine.Idle(t, 5*time.Second)
	if kind.Alone {
		engine.Full(t, pool, "last")
	}

	acked := make(map[string]refrain.Outcome)
	rows := make(map[string]int)
	late := 0
	for _, list := range answers {
		for _, a := range list {
			acked[a.key] = a.out
			for _, row := range a.refused {
				rows[row]++
			}
			if len(a.refused) > 0 && a.out.Replayed {
				late++
			}
		}
	}
	past := shop.Open(t, "", pool)
	orders, err := shop.Orders(t.Context())
	if err != nil {
		t.Error(err)
	}
	extra := len(orders) - len(acked)
	if kind.Alone {
		extra -= pool
	}
	if extra != 0 {
		t.Errorf("%d orders are of no acknowledged key", extra)
	}
	for key, out := range acked {
		if found := orders[key]; found.Ref != out.Ref || found.Token != string(out.Body) {
			t.Errorf("%s has %+v and was told %s %s", key, found, out.Ref, out.Body)
		}
		again, err := past.Do(t.Context(), engines.Call(key), engines.Order{Token: key + "/again"})
		if err == nil {
			err = engines.Same(again, out)
		}
		if err != nil {
			t.Errorf("%s: the repeat past the proxy: %v", key, err)
		}
	}
	t.Logf("%s: %d cuts, %d of them behind a COMMIT; %d keys, each one effect and replayed with the same bytes; refused by row %v and repeated, %d of them had committed",
		kind.Name, cuts, commits, len(acked), rows, late)
}

// cutAnywhere breaks a connection at a random byte.
func cutAnywhere(t *testing.T, proxy *wire.Proxy, random *rand.Rand) {
	t.Helper()
	reach := int64(far)
	if random.IntN(2) == 0 {
		reach = near // also the connection that replaces a cut one
	}
	done := proxy.Cut(wire.Direction(random.IntN(2)), random.Int64N(reach), wire.How(random.IntN(2)))
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatal("no traffic reaches the cut")
	}
}

// cutCommit takes the answer to a COMMIT away.
func cutCommit(t *testing.T, proxy *wire.Proxy, random *rand.Rand) {
	t.Helper()
	how, grace := wire.How(random.IntN(2)), processes.Upto(random, 10*time.Millisecond)
	held := proxy.Hold()
	select {
	case <-held.Reached:
		<-time.After(grace) // not a wait for anything: where in its work the server is
		held.Cut(how)
	case <-time.After(patience):
		t.Fatal("no COMMIT is sent")
	}
}

// work places orders one after the other until stop is closed, each until it is
// answered, and asks some answers again.
func work(t *testing.T, engine *engines.Engine, random *rand.Rand, worker int, stop chan struct{}) (answers []answer) {
	for n := 0; ; n++ {
		select {
		case <-stop:
			return answers
		default:
		}
		a := answer{key: fmt.Sprintf("worker-%d-%d", worker, n)}
		if !a.ask(t, engine) {
			return answers
		}
		answers = append(answers, a)
		if random.IntN(4) > 0 {
			continue
		}
		first := a.out
		if again := (answer{key: a.key, first: tries}); again.ask(t, engine) {
			if err := engines.Same(again.out, first); err != nil {
				t.Errorf("%s: %v", a.key, err)
			}
		}
	}
}

// ask repeats the order until it is answered. What it is told in between may
// only be that nothing is known.
func (a *answer) ask(t *testing.T, engine *engines.Engine) bool {
	for try := range tries {
		token := fmt.Sprintf("%s/%d", a.key, a.first+try)
		out, err := engine.Do(t.Context(), engines.Call(a.key), engines.Order{Token: token})
		if err == nil {
			a.out = out
			a.truthful(t, token)
			return true
		}
		row := engines.Row(err)
		a.refused = append(a.refused, row)
		if row != "9" && row != "10" && row != "6a" {
			t.Errorf("%s: row %q: %v", a.key, row, err)
			return false
		}
	}
	t.Errorf("%s has no answer after %d tries: rows %v", a.key, tries, a.refused[:10])
	return false
}

// truthful demands that a fresh answer is this try's own, and that a repetition
// is not of a try that was told that nothing was executed.
func (a *answer) truthful(t *testing.T, token string) {
	if !a.out.Replayed {
		if string(a.out.Body) != token {
			t.Errorf("%s: a fresh answer %q", token, a.out.Body)
		}
		return
	}
	number, ours := strings.CutPrefix(string(a.out.Body), a.key+"/")
	try, err := strconv.Atoi(number)
	if !ours || err != nil {
		t.Errorf("%s: repeated %q", token, a.out.Body)
		return
	}
	if at := try - a.first; at >= 0 && at < len(a.refused) && a.refused[at] != "10" {
		t.Errorf("%s: the try was told row %s, and its effect is there", a.out.Body, a.refused[at])
	}
}
