package external

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/refrain-dev/refrain/operation"
)

var (
	// ErrRunning: the runner runs already, or has run.
	ErrRunning = errors.New("external: the runner was started already")
	// ErrStopped is the cause of the contexts of attempts when Grace is over.
	ErrStopped = errors.New("external: the runner stops")
)

// Runner accepts external operations and carries them out. T is the transaction
// of the store. Several runners, in one process or many, share a store.
type Runner[T any] struct {
	store   operation.Store[T]
	options Options
	steps   map[string]Step[T]
	lanes   map[string]*lane

	mu      sync.Mutex
	started bool
	lives   *lives // nil unless it runs
	work    sync.WaitGroup
	flights map[string]chan struct{} // by an operation's ref: closed when this process is done with it

	unwritten int // replies that were given up
}

// lives are how long what a runner began may go on.
type lives struct {
	begins   context.Context // until Run is told to stop
	attempts context.Context // until Grace is over
	writes   context.Context // a little longer: what is known is written
}

// lastWrites is how long replies are written after the last attempt was given up.
const lastWrites = 5 * time.Second

// New makes a runner and refuses, before anything is sent, what cannot be kept: a
// step that needs what its provider's terms do not give, an unknown provider, a
// name that occurs twice. It starts nothing.
func New[T any](store operation.Store[T], options Options, steps ...Step[T]) (*Runner[T], error) {
	if store == nil {
		return nil, errors.New("external: a runner needs a store")
	}
	r := &Runner[T]{
		store: store, options: options.withDefaults(),
		steps: make(map[string]Step[T]), lanes: make(map[string]*lane), flights: make(map[string]chan struct{}),
	}
	for name, p := range options.Providers {
		if err := check(name, p); err != nil {
			return nil, err
		}
		r.lanes[name] = newLane(name, p, r.options)
	}
	for _, s := range steps {
		l := r.lanes[s.Provider]
		if l == nil {
			return nil, fmt.Errorf("external: step %q names the provider %q, which Options.Providers does not have", s.Name, s.Provider)
		}
		if err := s.check(l.terms); err != nil {
			return nil, err
		}
		if _, twice := r.steps[s.Name]; twice {
			return nil, fmt.Errorf("external: two steps are named %q", s.Name)
		}
		r.steps[s.Name] = s
	}
	for _, s := range steps {
		if s.bind != nil {
			s.bind(r)
		}
	}
	return r, nil
}

// Run carries operations out until ctx ends. Then no attempt is begun any more;
// those under way have Options.Grace, then their contexts end, and what is known
// of them is written: at least that their outcome is unknown. At the start it tells
// its observer of providers that it does not have and whose operations are due
// ([Unserved]): they wait for another process, or for ever. It returns when the last
// provider has returned, nil if everything was written. It runs once.
func (r *Runner[T]) Run(ctx context.Context) error {
	beyond := context.WithoutCancel(ctx)
	attempts, giveUp := context.WithCancelCause(beyond)
	defer giveUp(ErrStopped)
	writes, end := context.WithCancel(beyond)
	defer end()
	if !r.start(&lives{ctx, attempts, writes}) {
		return ErrRunning
	}
	var loops sync.WaitGroup
	for _, l := range r.lanes {
		loops.Go(func() { r.take(ctx, attempts, l) })
	}
	loops.Go(func() { r.missing(ctx) })
	r.listen(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		loops.Wait()
		r.stop()
		r.work.Wait()
	}()
	if !within(done, r.options.Grace) {
		giveUp(ErrStopped)
		if !within(done, lastWrites) {
			end()
		}
	}
	<-done
	if r.unwritten > 0 {
		return fmt.Errorf("external: the replies of %d attempts could not be written; their leases run out", r.unwritten)
	}
	return nil
}

func within(done <-chan struct{}, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-done:
		return true
	case <-t.C:
		return false
	}
}

func (r *Runner[T]) start(l *lives) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.started {
		return false
	}
	r.started, r.lives = true, l
	return true
}

// stop lets nothing more begin.
func (r *Runner[T]) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lives = nil
}

// begin counts the work on one operation in and returns how long it may go on, nil
// unless the runner runs; once it stops only for what is claimed. Who waits for the operation waits for done.
func (r *Runner[T]) begin(ref string, claimed bool) (live *lives, done func(written bool)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lives == nil || !claimed && r.lives.begins.Err() != nil {
		return nil, nil
	}
	flight := make(chan struct{})
	r.flights[ref] = flight
	r.work.Add(1)
	return r.lives, func(written bool) {
		r.mu.Lock()
		if r.flights[ref] == flight { // else a newer attempt is under way
			delete(r.flights, ref)
		}
		if !written {
			r.unwritten++
		}
		r.mu.Unlock()
		close(flight)
		r.work.Done()
	}
}

// missing tells of providers whose operations wait for another process.
func (r *Runner[T]) missing(ctx context.Context) {
	since, _, err := r.store.Due(ctx)
	if err != nil && ctx.Err() == nil {
		r.observe(ctx, operation.Operation{}, Event{Kind: Failed, Err: err})
	}
	for name, at := range since {
		if r.lanes[name] == nil {
			r.observe(ctx, operation.Operation{Provider: name}, Event{Kind: Unserved, Why: "operations are due since " + at.Format(time.RFC3339)})
		}
	}
}

// listen passes on what the store hears from other processes, until ctx ends.
func (r *Runner[T]) listen(ctx context.Context) {
	woken := r.store.Woken()
	for {
		select {
		case _, open := <-woken:
			if !open {
				woken = nil
			}
			for _, l := range r.lanes {
				signal(l.due)
			}
		case <-ctx.Done():
			return
		}
	}
}
