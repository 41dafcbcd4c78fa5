// Package ext measures external operations: what accepting and confirming one
// costs beside the bare pair of transactions, how soon one is picked up, what an
// idle runner asks, and whether settled operations slow it down.
package ext

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/external"
	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"

	"github.com/refrain-dev/refrain/proof/bench/measure"
)

// Shop is one engine and what an application does with it.
type Shop[T any] struct {
	Name   string
	Engine refrain.Executor[T]
	Store  operation.Store[T]
	Begin  func(ctx context.Context, tx T, id int64) error // the business row, pending
	End    func(ctx context.Context, tx T, id int64) error // the business row, paid
	Pair   func(ctx context.Context, id int64) error       // the same two, in bare transactions
	Clone  func(ctx context.Context, count int, due bool) error
	Plan   func(ctx context.Context, provider string) (string, error)
}

// Sizes of one run.
type Sizes struct {
	Operations int // confirmed per round
	Rounds     int
	Pickups    int
	Idle       time.Duration
	Settled    int // beside Due ones
	Due        int
}

const workers = 8

// bank answers at once.
type bank struct {
	submitted func(input []byte)
}

func (bank) Terms() operation.Terms { return operation.Terms{Dedupes: true} }

func (b bank) Submit(_ context.Context, s external.Submission) operation.Reply {
	if b.submitted != nil {
		b.submitted(s.Input)
	}
	if err := s.Gate(); err != nil {
		return operation.Reply{End: operation.NotSent, Note: err.Error()}
	}
	return operation.Reply{End: operation.Confirmed, Reference: s.Key, Body: []byte(`{"id":"ch_1","status":"succeeded"}`)}
}

// counted counts how often an idle runner asks.
type counted[T any] struct {
	operation.Store[T]
	takes atomic.Int64
}

func (c *counted[T]) Take(ctx context.Context, provider string, limit int, decide func(operation.Seen) operation.Edit) ([]operation.Operation, time.Time, error) {
	c.takes.Add(1)
	return c.Store.Take(ctx, provider, limit, decide)
}

// Run prints the figures of one shop.
func Run[T any](ctx context.Context, out io.Writer, s Shop[T], size Sizes) error {
	fmt.Fprintf(out, "#### External operations on %s\n\n| figure | measured |\n|--|--|\n", s.Name)
	for _, part := range []func(context.Context, io.Writer, Shop[T], Sizes) error{throughput[T], pickup[T], idle[T], crowd[T]} {
		if err := part(ctx, out, s, size); err != nil {
			return err
		}
	}
	fmt.Fprintln(out)
	return nil
}

var next atomic.Int64

func contract() refrain.Contract {
	return refrain.Contract{Operation: "payments.create", Schema: "1", ReplayFor: time.Hour, RememberFor: 24 * time.Hour}
}

// running starts a runner and returns what stops it.
func running[T any](ctx context.Context, s Shop[T], store operation.Store[T], b bank) (*external.Runner[T], func() error, error) {
	step := external.Step[T]{Name: "charge", Provider: "bank", Settle: func(ctx context.Context, tx T, o external.Settled) (record.Result, error) {
		var id int64
		if _, err := fmt.Sscan(string(o.Operation.Input), &id); err != nil {
			return record.Result{}, err
		}
		return record.Result{Status: 201, Body: o.Reply.Body}, s.End(ctx, tx, id)
	}}
	r, err := external.New(store, external.Options{Providers: map[string]external.Provider{"bank": b}, Concurrency: workers}, step)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	return r, func() error { cancel(); return <-ended }, nil
}

// accept is an order whose payment is accepted with it.
func accept[T any](ctx context.Context, s Shop[T], r *external.Runner[T], id int64) error {
	call := refrain.Call{Contract: contract(), Scope: refrain.Tenant("north"), Key: fmt.Sprintf("order-%d", id)}
	_, err := s.Engine.Execute(ctx, call, func(ctx context.Context, tx T) (refrain.Result, error) {
		if err := s.Begin(ctx, tx, id); err != nil {
			return refrain.Result{}, err
		}
		_, err := r.Accept(ctx, tx, external.Intent{Step: "charge", Input: fmt.Append(nil, id)})
		return refrain.Result{}, err
	})
	return err
}

// each runs n calls by several workers.
func each(n int, do func(id int64) error) error {
	var wg sync.WaitGroup
	errs := make(chan error, workers)
	var left atomic.Int64
	left.Store(int64(n))
	for range workers {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				if err := do(next.Add(1)); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	wg.Wait()
	close(errs)
	return <-errs
}

func throughput[T any](ctx context.Context, out io.Writer, s Shop[T], size Sizes) error {
	var ratios, ours []float64
	for range size.Rounds {
		begun := time.Now()
		if err := each(size.Operations, func(id int64) error { return s.Pair(ctx, id) }); err != nil {
			return fmt.Errorf("bare pairs: %w", err)
		}
		bare := time.Since(begun)
		r, stop, err := running(ctx, s, s.Store, bank{})
		if err != nil {
			return err
		}
		begun = time.Now()
		err = each(size.Operations, func(id int64) error { return accept(ctx, s, r, id) })
		if err == nil {
			err = drained(ctx, s)
		}
		took := time.Since(begun)
		if err = errors.Join(err, stop()); err != nil {
			return fmt.Errorf("operations: %w", err)
		}
		ratios = append(ratios, bare.Seconds()/took.Seconds())
		ours = append(ours, float64(size.Operations)/took.Seconds())
	}
	ratio := measure.Of(ratios)
	fmt.Fprintf(out, "| accepted → confirmed, %d callers ÷ bare pair of transactions | %.2f (%.2f–%.2f), %.0f operations/s |\n",
		workers, ratio.Median, ratio.Min, ratio.Max, measure.Of(ours).Median)
	return nil
}

// drained waits until nothing is unfinished.
func drained[T any](ctx context.Context, s Shop[T]) error {
	for {
		open := 0
		for _, state := range []record.State{record.Accepted, record.Submitted, record.Unknown} {
			some, err := s.Store.List(ctx, operation.Operation{Provider: "bank", State: state}, 1)
			if err != nil {
				return err
			}
			open += len(some)
		}
		if open == 0 {
			return nil
		}
		time.Sleep(time.Millisecond)
	}
}

// pickup is the time from the COMMIT that accepted to the call of the provider,
// each operation alone.
func pickup[T any](ctx context.Context, out io.Writer, s Shop[T], size Sizes) error {
	var at atomic.Int64
	came := make(chan struct{}, 1)
	r, stop, err := running(ctx, s, s.Store, bank{submitted: func([]byte) { at.Store(time.Now().UnixNano()); came <- struct{}{} }})
	if err != nil {
		return err
	}
	var took measure.Histogram
	for range size.Pickups {
		if err := accept(ctx, s, r, next.Add(1)); err != nil {
			return err
		}
		accepted := time.Now().UnixNano()
		<-came
		took.Observe(time.Duration(max(at.Load()-accepted, 0)))
		time.Sleep(5 * time.Millisecond)
	}
	if err := stop(); err != nil {
		return err
	}
	fmt.Fprintf(out, "| accepted → submitted, one at a time, p50; p99 | %s; %s |\n",
		took.Quantile(0.5).Round(10*time.Microsecond), took.Quantile(0.99).Round(10*time.Microsecond))
	return nil
}

func idle[T any](ctx context.Context, out io.Writer, s Shop[T], size Sizes) error {
	store := &counted[T]{Store: s.Store}
	_, stop, err := running(ctx, s, store, bank{})
	if err != nil {
		return err
	}
	time.Sleep(size.Idle)
	asked := store.takes.Load()
	if err := stop(); err != nil {
		return err
	}
	fmt.Fprintf(out, "| questions a second of an idle runner, per provider | %.1f |\n", float64(asked)/size.Idle.Seconds())
	return nil
}

// crowd asks for due operations, first beside few and then beside many settled.
func crowd[T any](ctx context.Context, out io.Writer, s Shop[T], size Sizes) error {
	if err := s.Clone(ctx, size.Due, true); err != nil {
		return err
	}
	few, err := takes(ctx, s)
	if err != nil {
		return err
	}
	if err := s.Clone(ctx, size.Settled, false); err != nil {
		return err
	}
	many, err := takes(ctx, s)
	if err != nil {
		return err
	}
	plan, err := s.Plan(ctx, "bench")
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "| a batch of 64 due of %d, beside few settled; beside %d settled | %s; %s |\n\n```\n%s\n```\n",
		size.Due, size.Settled, few.Round(10*time.Microsecond), many.Round(10*time.Microsecond), plan)
	return nil
}

// takes is the median time of a batch that is read and left as it is.
func takes[T any](ctx context.Context, s Shop[T]) (time.Duration, error) {
	var took measure.Histogram
	for range 50 {
		begun, offered := time.Now(), 0
		_, _, err := s.Store.Take(ctx, "bench", 64, func(operation.Seen) operation.Edit { offered++; return operation.Edit{} })
		if err != nil {
			return 0, err
		}
		if offered != 64 {
			return 0, fmt.Errorf("%d operations were offered", offered)
		}
		took.Observe(time.Since(begun))
	}
	return took.Quantile(0.5), nil
}
