package trials

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/refrain-dev/refrain/proof/engines"
	"github.com/refrain-dev/refrain/proof/servers"
	cable "github.com/refrain-dev/refrain/proof/wire"
)

// impatient are the times of a caller behind an unreliable network, and prompt
// what they make of the longest answer on a busy machine.
const (
	impatient = 500 * time.Millisecond
	prompt    = 8 * time.Second
)

// outage is a shop behind a cable with a known order, and what its handler does
// behind the effect.
type outage struct {
	*shop
	cable   *cable.Proxy
	known   answer
	runs    atomic.Int32
	learned int32 // runs before the outage
	behind  func()
}

func newOutage(t *testing.T, room *engines.Shop, params map[string]string) *outage {
	t.Helper()
	o := &outage{cable: cable.New(t, room.Addr(), nil), behind: func() {}}
	c := orders
	c.MaxExecution, c.CommitWait = 2*time.Second, time.Second
	store := connect(t, emptied(t, room), session{addr: o.cable.Addr(), busy: impatient, params: params})
	o.shop = store.sell(t, c, func(w http.ResponseWriter, r *http.Request, run statement) error {
		n := o.runs.Add(1)
		err := run(r.Context(), store.insert())
		if n > 1 {
			o.behind()
		}
		return errors.Join(err, created(w, n))
	})
	t.Cleanup(func() { o.cable.Sever(cable.Reset) }) // the web server waits for requests that wait
	return o
}

func (o *outage) learn() {
	o.t.Helper()
	o.known, o.learned = o.served("known", 0), o.runs.Load()
	wantRun(o.t, o.known, o.learned)
}

// served sends an order until it is served: again after each answer that was late, as
// a busy server's are, and after so many that were not, of connections that broke.
func (o *outage) served(key string, broken int) answer {
	o.t.Helper()
	for begun := time.Now(); ; {
		asked := time.Now()
		a := o.post(key, order)
		late := time.Since(asked) >= impatient && time.Since(begun) < time.Minute
		if a.status == http.StatusCreated || !late && broken == 0 {
			return a
		}
		if !late {
			broken--
		}
	}
}

// refused sends an order that must not be executed, and soon be told so.
func (o *outage) refused(key string, problems ...string) {
	o.t.Helper()
	ctx, cancel := context.WithTimeout(o.t.Context(), prompt)
	defer cancel()
	a, err := o.try(o.request(ctx, key, order))
	if err != nil {
		o.t.Fatalf("%s: no answer in %v: %v", key, prompt, err)
	}
	if a.status != http.StatusServiceUnavailable || a.header.Get("Retry-After") == "" || a.header.Get("Location") != "" || !slices.Contains(problems, a.problem()) {
		o.t.Errorf("%s: answer = %v %v, want 503 and one of %v", key, a, a.header, problems)
	}
}

// healed demands one effect of each key from now on.
func (o *outage) healed(key string) {
	o.t.Helper()
	a := o.served(key, 19)
	if a.status != http.StatusCreated {
		o.t.Fatalf("%s after the outage: %v", key, a)
	}
	wantReplay(o.t, o.served(key, 0), a)
	wantReplay(o.t, o.served("known", 0), o.known)
	o.wantEffects(2)
}

// TestServerThatRefuses: nothing is looked up, so nothing is executed, replayed or
// called unknown.
func TestServerThatRefuses(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, room *engines.Shop) {
		o := newOutage(t, room, nil)
		o.learn()
		o.cable.Refuse(true)
		o.cable.Sever(cable.Reset)
		for range 2 {
			o.refused("k", "store-unavailable")
			o.refused("known", "store-unavailable")
			wantProblem(t, o.shop.post("", order), 400, "key-missing") // which needs no store
		}
		if n := o.runs.Load(); n != o.learned {
			t.Errorf("the handler ran %d times", n-o.learned)
		}
		o.cable.Refuse(false)
		o.healed("k")
	})
}

// TestServerThatIsSilent: a lookup without an answer is given up soon, and is no
// miss.
func TestServerThatIsSilent(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, room *engines.Shop) {
		o := newOutage(t, room, nil)
		o.learn()
		o.cable.Pause()
		o.refused("k", "store-unavailable")
		o.refused("known", "store-unavailable")
		if n := o.runs.Load(); n != o.learned {
			t.Errorf("the handler ran %d times", n-o.learned)
		}
		o.cable.Resume()
		o.healed("k")
	})
}

// TestServerGoneBehindTheEffect: the connection ends, or falls silent, between the
// effect and its record. The client is told no success; the retry finds out.
func TestServerGoneBehindTheEffect(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, room *engines.Shop) {
		for name, gone := range map[string]func(o *outage){
			"ended":  func(o *outage) { o.cable.Refuse(true); o.cable.Sever(cable.Reset) },
			"silent": func(o *outage) { o.cable.Pause() },
		} {
			t.Run(name, func(t *testing.T) {
				o := newOutage(t, room, nil)
				o.learn()
				o.behind = func() { gone(o) }
				o.refused("k", "store-unavailable", "not-executed", "commit-unknown")
				o.behind = func() {}
				o.cable.Refuse(false)
				o.cable.Resume()
				o.healed("k")
			})
		}
	})
}

// TestReadOnlyServer: a server that takes no writes executes nothing, and what it
// knows it may tell.
func TestReadOnlyServer(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, room *engines.Shop) {
		params := map[string]string{}
		clerks := room
		if room.MySQL { // the engine asks for transactions that write: the server itself must refuse
			room = engines.NewShop(t, engines.MySQL, servers.StartMariaDB(t, "").DSN())
			var allow func()
			clerks, allow, _ = clerk(t, room)
			allow()
		} else {
			params["default_transaction_read_only"] = "on"
		}
		writable := newOutage(t, room, nil)
		writable.learn()
		refuse := func(what string) {
			if !room.MySQL {
				return
			}
			if err := room.Exec(t.Context(), "SET GLOBAL read_only = "+what); err != nil {
				t.Fatal(err)
			}
		}
		refuse("ON")
		store := connect(t, clerks, session{busy: impatient, params: params})
		o := &outage{}
		o.shop = store.sell(t, orders, func(w http.ResponseWriter, r *http.Request, run statement) error {
			return errors.Join(run(r.Context(), store.insert()), created(w, 0))
		})
		for range 2 {
			o.refused("k", "store-unavailable")
		}
		if a := o.post("known", order); a.status != http.StatusCreated || !a.replayed() {
			wantProblem(t, a, 503, "store-unavailable")
		}
		o.wantEffects(1)
		refuse("OFF")
		writable.healed("k")
	})
}
