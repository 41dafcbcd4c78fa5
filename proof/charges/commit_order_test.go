//go:build linux

package charges

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/external"
	"github.com/refrain-dev/refrain/mysql"
	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/outbox"
	"github.com/refrain-dev/refrain/postgres"
	"github.com/refrain-dev/refrain/proof/engines"
)

// TestLateCommitIsDelivered: a message that took the lower number and commits
// later is delivered, and one that is rolled back leaves a hole that stalls nobody,
// while the relay looks every millisecond.
func TestLateCommitIsDelivered(t *testing.T) {
	t.Run(engines.Pgx.Name, func(t *testing.T) {
		t.Parallel()
		shop := engines.NewShop(t, engines.Pgx, engines.Shared(t, engines.Pgx))
		db, err := postgres.Open(t.Context(), shop.DSN(""), postgres.Options{Schema: shop.Place().Name})
		if err != nil {
			t.Fatal(err)
		}
		lateCommit(t, db, db.Operations(), db.Close)
	})
	t.Run(engines.MySQL.Name, func(t *testing.T) {
		t.Parallel()
		shop := engines.NewShop(t, engines.MySQL, engines.Shared(t, engines.MySQL))
		db, err := mysql.Open(shop.DSN(""))
		if err != nil {
			t.Fatal(err)
		}
		lateCommit(t, db, db.Operations(), db.Close)
	})
}

func lateCommit[T any](t *testing.T, executor refrain.Executor[T], store operation.Store[T], end func(context.Context) error) {
	t.Helper()
	t.Cleanup(func() {
		if err := end(context.Background()); err != nil {
			t.Error(err)
		}
	})
	delivered := make(chan string, 16)
	relay, err := external.New(store, external.Options{
		Poll: time.Millisecond,
		Providers: map[string]external.Provider{"bus": outbox.Provider(outbox.Func(func(_ context.Context, d outbox.Delivery) error {
			delivered <- d.ID
			return nil
		}))},
	}, outbox.Step[T]("bus"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- relay.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	bus := outbox.To(relay, "bus")
	publish := func(id string, inside func() error) error {
		call := refrain.Call{
			Contract: refrain.Contract{Operation: "orders.create", Schema: "1", ReplayFor: time.Hour, RememberFor: 24 * time.Hour},
			Scope:    refrain.Tenant("north"), Key: "order " + id,
		}
		_, err := executor.Execute(t.Context(), call, func(ctx context.Context, tx T) (refrain.Result, error) {
			if _, err := bus.Publish(ctx, tx, outbox.Message{ID: strings.ReplaceAll(id, " ", "-")}); err != nil {
				return refrain.Result{}, err
			}
			return refrain.Result{}, inside()
		})
		return err
	}
	next := func() string {
		select {
		case id := <-delivered:
			return id
		case <-time.After(patience):
			t.Fatal("nothing was delivered")
			return ""
		}
	}
	inserted, commit := make(chan struct{}), make(chan struct{})
	first := make(chan error, 1)
	go func() { first <- publish("lower", func() error { close(inserted); <-commit; return nil }) }()
	<-inserted
	if err := publish("higher", func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	if id := next(); id != "higher" {
		t.Errorf("%s was delivered while the transaction of lower was open", id)
	}
	if err, want := publish("hole", func() error { return errHole }), errHole; !errors.Is(err, want) {
		t.Errorf("rolled back with %v", err)
	}
	close(commit)
	if err := <-first; err != nil {
		t.Fatal(err)
	}
	if id := next(); id != "lower" {
		t.Errorf("%s was delivered when lower had committed", id)
	}
	if err := publish("behind the hole", func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	next()
	all, err := store.List(t.Context(), operation.Operation{Provider: "bus"}, 10)
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(all, func(a, b operation.Operation) int { return int(a.Seq - b.Seq) })
	if len(all) != 3 {
		t.Fatalf("listed %+v", all)
	}
	oldest, _, err := store.Load(t.Context(), all[0].Ref)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(oldest.Input), "lower") || all[2].Seq-all[1].Seq < 2 {
		t.Errorf("the numbers are not in the order of insertion, with a hole before the last: %+v", all)
	}
	if len(delivered) > 0 {
		t.Errorf("%s was delivered, too", <-delivered)
	}
}

var errHole = errors.New("rolled back")
