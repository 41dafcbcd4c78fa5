//go:build linux

package serverfaults

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/proof/engines"
	"github.com/refrain-dev/refrain/proof/servers"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	pool = 4
	busy = time.Second // how long a call waits for the server
	// soon is how long a call may take while its server does not answer: the waits
	// for a connection, for the lookup, for the effect and for COMMIT.
	soon = 6 * time.Second
)

// server is what the faults are done to.
type server interface {
	Kill(t testing.TB)
	Pause(t testing.TB)
	Resume(t testing.TB)
	Start(t testing.TB)
	Stop(t testing.TB)
	Ended() bool
	Exec(ctx context.Context, statement string) error
	DSN() string
}

// launch starts a private server for an engine.
func launch(t *testing.T, kind engines.Kind, on servers.On) server {
	t.Helper()
	if kind.MySQL {
		return servers.StartMariaDB(t, on)
	}
	return servers.StartPostgres(t, on, "max_wal_size=32MB", "min_wal_size=32MB")
}

// kinds are the engines whose effects have a session to themselves.
func kinds() (list []engines.Kind) {
	for _, kind := range engines.Kinds {
		if kind.Alone {
			list = append(list, kind)
		}
	}
	return list
}

// fault is one fault of one server, as one engine meets it.
type fault struct {
	*testing.T
	kind   engines.Kind
	server server
	shop   *engines.Shop
	engine *engines.Engine
	asked  []string
	acked  map[string]refrain.Outcome
	own    int // orders that Full placed
}

// each runs a fault with every engine, on servers that all faults of an engine
// share.
func each(t *testing.T, faults map[string]func(*fault)) {
	for _, kind := range kinds() {
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			s := launch(t, kind, "")
			names := make([]string, 0, len(faults))
			for name := range faults {
				names = append(names, name)
			}
			slices.Sort(names)
			for _, name := range names {
				t.Run(name, func(t *testing.T) { faults[name](newFault(t, kind, s)) })
			}
		})
	}
}

func newFault(t *testing.T, kind engines.Kind, s server) *fault {
	t.Helper()
	f := &fault{T: t, kind: kind, server: s, shop: engines.NewShop(t, kind, s.DSN()), acked: make(map[string]refrain.Outcome)}
	f.engine = f.open(f.shop)
	if _, err := f.ask("before", engines.Order{}); err != nil { // a pool with connections in it
		t.Fatal(err)
	}
	return f
}

// open opens the engine as an application that does not wait for long.
func (f *fault) open(shop *engines.Shop) *engines.Engine {
	f.Helper()
	return shop.Open(f, "", pool, engines.Options{Busy: busy})
}

// call is an order with short waits.
func call(key string) refrain.Call {
	c := engines.Call(key)
	c.Contract.MaxExecution, c.Contract.CommitWait, c.Contract.Wait = 3*time.Second, time.Second, -1
	return c
}

// ask places an order and demands an answer soon.
func (f *fault) ask(key string, o engines.Order) (refrain.Outcome, error) {
	f.Helper()
	if !slices.Contains(f.asked, key) {
		f.asked = append(f.asked, key)
	}
	if o.Inside != nil { // an effect that runs again meets no other fault
		o.Inside = sync.OnceFunc(o.Inside)
	}
	o.Token = fmt.Sprintf("%s/%d", key, time.Now().UnixNano())
	ctx, cancel := context.WithTimeout(f.Context(), 5*soon) // the test's own patience, not part of what is proved
	defer cancel()
	began := time.Now()
	out, err := f.engine.Do(ctx, call(key), o)
	if took := time.Since(began); took > soon {
		f.Errorf("%s was answered after %v: %v", key, took, err)
	}
	if err == nil {
		if first, known := f.acked[key]; known {
			if diff := engines.Same(out, first); diff != nil {
				f.Errorf("%s: %v", key, diff)
			}
		} else {
			f.acked[key] = out
		}
	}
	return out, err
}

// refused asks and demands one of the rows. It returns the error.
func (f *fault) refused(key string, o engines.Order, rows ...string) error {
	f.Helper()
	out, err := f.ask(key, o)
	if !slices.Contains(rows, engines.Row(err)) {
		f.Errorf("%s: row %q, want %v: %+v, %v", key, engines.Row(err), rows, out, err)
	}
	f.Logf("row %s: %v", engines.Row(err), err)
	return err
}

// repaired asks for everything again until it is answered, and demands one order
// of each key, and all connections.
func (f *fault) repaired() {
	f.Helper()
	for _, key := range f.asked {
		var err error
		servers.Until(f, key+" is answered", func() bool {
			if f.server.Ended() { // it ended itself, on a full disk
				f.server.Start(f)
			}
			_, err = f.ask(key, engines.Order{})
			return err == nil
		}, &err)
	}
	f.engine.Idle(f, 5*time.Second)
	f.engine.Full(f, pool, fmt.Sprint("full", f.own))
	f.own += pool
	orders, err := f.shop.Orders(f.Context())
	if err != nil || len(orders) != len(f.asked)+f.own {
		f.Errorf("%d orders of %d keys: %v", len(orders), len(f.asked)+f.own, err)
	}
	for key, out := range f.acked {
		if orders[key].Ref != out.Ref || orders[key].Token != string(out.Body) {
			f.Errorf("%s was told %s %s and has %+v", key, out.Ref, out.Body, orders[key])
		}
	}
}

func (f *fault) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// run runs a statement past the engine, the one for the server's kind.
func (f *fault) run(postgres, mysql string) {
	f.Helper()
	statement := postgres
	if f.kind.MySQL {
		statement = mysql
	}
	if statement != "" {
		f.must(f.shop.Exec(f.Context(), statement))
	}
}
