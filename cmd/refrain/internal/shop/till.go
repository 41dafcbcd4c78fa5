package shop

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/external"
	"github.com/refrain-dev/refrain/fakeprovider"
	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"
)

// till carries out the shop's charges at a provider of this process. What a
// provider promises is fixed for a runner, so the till makes a new one when the
// switches change what the provider promises.
type till struct {
	store  operation.Store[refrain.SQLTx]
	settle func(context.Context, refrain.SQLTx, external.Outcome[charge, struct{}]) (record.Result, error)
	bank   *fakeprovider.Server
	// name is another one in every process: the provider forgets what it did when
	// its process ends, so the next process must not ask its own about it.
	name string

	now     atomic.Pointer[counter]
	changes chan change
}

// counter is a runner and the one step it has.
type counter struct {
	promises promises
	runner   *external.Runner[refrain.SQLTx]
	pay      *external.Defined[refrain.SQLTx, charge]
}

// chargeStep is the step of a payment.
const chargeStep = "charge"

// The demo's pace is short, so that a person sees what happens.
const (
	paceFirst, paceMost = 100 * time.Millisecond, 2 * time.Second
	poll                = 200 * time.Millisecond
	bankTimeout         = 3 * time.Second
	attemptLease        = 10 * time.Second
	grace               = 5 * time.Second
)

func newTill(store operation.Store[refrain.SQLTx], settle func(context.Context, refrain.SQLTx, external.Outcome[charge, struct{}]) (record.Result, error)) (*till, error) {
	t := &till{
		store: store, settle: settle, bank: fakeprovider.New(),
		name: "fake-" + strings.ToLower(rand.Text()[:8]), changes: make(chan change),
	}
	return t, t.renew(promises{window: usualWindow, query: true})
}

// renew makes the runner that knows the provider by these promises.
func (t *till) renew(p promises) error {
	c := &counter{promises: p}
	c.pay = external.Define(external.Effect[refrain.SQLTx, charge, struct{}]{
		Name: chargeStep, Provider: t.name, Pace: operation.Pace{First: paceFirst, Most: paceMost}, Settle: t.settle,
	})
	var err error
	c.runner, err = external.New(t.store, external.Options{
		Providers: map[string]external.Provider{t.name: p.provider(t.bank)},
		Lease:     attemptLease, Poll: poll, Grace: grace, BreakAfter: -1, // a person switches the faults
	}, c.pay.Step())
	if err == nil {
		t.now.Store(c)
	}
	return err
}

// accept writes the intent to charge in the transaction of a payment.
func (t *till) accept(ctx context.Context, tx refrain.SQLTx, c charge) error {
	_, err := t.now.Load().pay.Accept(ctx, tx, c)
	return err
}

// await is the guard's.
func (t *till) await(ctx context.Context, action string, d time.Duration) error {
	return t.now.Load().runner.Await(ctx, action, d)
}

// change is a wish to change the provider.
type change struct {
	switches func(*fakeprovider.Switches)
	promises promises
	done     chan error
}

// set changes the provider, from the next charge on. What it promises changes
// while no runner is at work.
func (t *till) set(ctx context.Context, p promises, switches func(*fakeprovider.Switches)) error {
	if p == t.now.Load().promises {
		return t.bank.Set(switches)
	}
	ctx, cancel := context.WithTimeout(ctx, 2*grace)
	defer cancel()
	c := change{switches, p, make(chan error, 1)}
	select {
	case t.changes <- c:
	case <-ctx.Done():
		return fmt.Errorf("the provider's runner is busy: %w", ctx.Err())
	}
	return <-c.done
}

// run serves the provider and carries out charges until ctx ends and what is
// under way has had its grace.
func (t *till) run(ctx context.Context) error {
	if err := t.bank.Start(); err != nil {
		return err
	}
	defer t.bank.Close()
	for {
		wish, err := t.until(ctx)
		if err != nil || wish == nil {
			return err
		}
		if err = t.bank.Set(wish.switches); err == nil {
			err = t.renew(wish.promises)
		}
		wish.done <- err
		if err != nil {
			return err
		}
	}
}

// until runs one runner until ctx ends or the provider's promises are to change.
func (t *till) until(ctx context.Context) (*change, error) {
	running, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- t.now.Load().runner.Run(running) }()
	select {
	case err := <-ended:
		return nil, err
	case wish := <-t.changes:
		stop()
		err := <-ended
		if err != nil {
			wish.done <- errors.New("the provider's runner has failed")
		}
		return &wish, err
	}
}
