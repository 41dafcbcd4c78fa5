//go:build linux

package charges

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/refrain-dev/refrain/fakeprovider"
	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/proof/engines"
	"github.com/refrain-dev/refrain/proof/wire"
	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/sqlite"
)

// trial is one run: a bank, a place for records, workers and orders.
type trial struct {
	*testing.T
	setting
	random *rand.Rand
	kind   kind
	bank   *bank
	own    *process // the test's own look at the store
	desk   *desk
	proxy  *wire.Proxy // before a database server; nil until asked for
	orders []*order

	paused time.Duration // the longest pause of a worker
	seen   *tally
}

// newTrial prepares a trial over one engine; on a server shop is where.
func newTrial(t *testing.T, shop *engines.Shop, k kind, seed uint64, change func(*setting)) *trial {
	t.Helper()
	x := &trial{T: t, kind: k, random: rand.New(rand.NewPCG(seed, 1)), seen: new(tally)}
	x.bank = &bank{Server: fakeprovider.New(), arrived: make(map[string]int)}
	counted := httptest.NewServer(x.bank)
	t.Cleanup(counted.Close)
	t.Cleanup(x.bank.Close)
	x.setting = setting{
		Engine: onFile, Tenant: "north", Bank: counted.URL, Kind: k.name,
		Window: window, Lease: lease, Margin: margin, Provider: fmt.Sprintf("bank-%d", syscall.Getpid()),
	}
	if change != nil {
		change(&x.setting)
	}
	var known time.Duration
	if k.dedupes {
		known = x.Window
	}
	if err := x.bank.Set(func(s *fakeprovider.Switches) { s.Window, s.Query = known, k.queries }); err != nil {
		t.Fatal(err)
	}
	if shop == nil {
		x.Place.DSN = filepath.Join(t.TempDir(), "shop.db")
		x.prepare()
	} else {
		x.Engine, x.Place = shop.Name, shop.Place()
		x.Tenant = fmt.Sprintf("tenant-%x", x.random.Uint64())
		x.Provider = fmt.Sprintf("bank-%x", x.random.Uint64())
	}
	x.own = &process{setting: x.setting}
	desk, err := x.own.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = desk.raw.Close()
		if err := desk.close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	x.desk = desk
	return x
}

func (x *trial) prepare() {
	x.Helper()
	db, err := sqlite.Open(x.Place.DSN, sqlite.Options{Normal: true})
	if err != nil {
		x.Fatal(err)
	}
	if err := db.Migrate(x.Context()); err != nil {
		x.Fatal(err)
	}
	if err := db.Setup(x.Context(), "CREATE TABLE payments "+table); err != nil {
		x.Fatal(err)
	}
	if err := db.Close(x.Context()); err != nil {
		x.Fatal(err)
	}
}

// newShop is a schema on a server, with the business table.
func newShop(t *testing.T, k engines.Kind) *engines.Shop {
	t.Helper()
	shop := engines.NewShop(t, k, engines.Shared(t, k))
	if err := shop.Exec(t.Context(), "CREATE TABLE "+shop.Table("payments")+" "+table); err != nil {
		t.Fatal(err)
	}
	return shop
}

// between is a random duration.
func (x *trial) between(least, most time.Duration) time.Duration {
	return least + time.Duration(x.random.Int64N(int64(most-least)))
}

// fault sets how the bank fails its next charges.
func (x *trial) fault(change func(*fakeprovider.Switches)) {
	x.Helper()
	if err := x.bank.Set(change); err != nil {
		x.Fatal(err)
	}
}

// operation is the one of an order; none while its acceptance is not committed.
func (x *trial) operation(o *order) (operation.Operation, bool) {
	x.Helper()
	if o.action == "" {
		all, err := x.desk.store.List(x.Context(), operation.Operation{Provider: x.Provider}, 1000)
		if err != nil {
			x.Fatal(err)
		}
		for _, op := range all {
			whole, _, err := x.desk.store.Load(x.Context(), op.Ref)
			if err != nil {
				x.Fatal(err)
			}
			if string(whole.Input) == o.body() {
				o.action = op.Action
			}
		}
	}
	if o.action == "" {
		return operation.Operation{}, false
	}
	all, err := x.desk.store.Of(x.Context(), o.action)
	if err != nil || len(all) != 1 {
		x.Fatalf("the action has operations %v: %v", all, err)
	}
	return all[0], true
}

// rests reports whether machines can do no more about it: it is settled, left to
// a person, or its provider knows nothing of it and another submission could be
// the second one.
func (x *trial) rests(op operation.Operation) bool {
	switch {
	case op.State.Final():
		return true
	case op.State != record.Unknown:
		return false
	case op.Due.IsZero():
		return true
	}
	nobody := !op.NotFound.IsZero() && x.bank.Report(op.Key).State == fakeprovider.NotFound
	return x.kind.queries && !x.kind.final && nobody && op.Safe(x.profile().Terms, time.Now()) != nil
}

// patience bounds how long machines may take once the faults are over.
const patience = 30 * time.Second

// settle has the clients retry at w until every operation rests.
func (x *trial) settle(w *worker) {
	x.Helper()
	deadline := time.Now().Add(patience)
	for _, o := range x.orders {
		for ; ; x.wait(lease / 10) { // nothing tells a client but another answer
			x.post(w, o)
			op, there := x.operation(o)
			if there && x.rests(op) {
				break
			}
			if time.Now().After(deadline) {
				x.Fatalf("after %v %s is %s (%s), due %v, attempts %+v, the client was told %v", patience, o, op.State, op.Why, op.Due, op.Attempts, o.told[len(o.told)-1])
			}
		}
	}
}

// through has the workers reach the server by a proxy.
func (x *trial) through() {
	if x.Engine == onFile {
		return
	}
	shop, err := x.Place.Shop(x.Engine)
	if err != nil {
		x.Fatal(err)
	}
	x.proxy = wire.New(x, shop.Addr(), nil)
	x.Addr = x.proxy.Addr()
}

// gone takes the database away: another process holds the file's lock, or the
// server's sessions are cut and no new ones are made.
func (x *trial) gone() (back func()) {
	x.Helper()
	if x.proxy != nil {
		x.proxy.Refuse(true)
		x.proxy.Sever(wire.Reset)
		return func() { x.proxy.Refuse(false) }
	}
	tx, err := x.desk.raw.BeginTx(context.Background(), nil)
	if err != nil {
		x.Fatal(err)
	}
	return func() { _ = tx.Rollback() }
}
