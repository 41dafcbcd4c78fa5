package refrainhttp

import (
	"context"
	"net/http"
	"runtime"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

// grace is how long a handler whose context has ended may take to return before
// its client is answered without it.
const grace = time.Second

// attempt is one run of a handler that commits for itself, on a goroutine of
// its own: one that does not return must not keep its client.
type attempt struct {
	*wrapper
	x     *exchange
	claim *record.Claim
	rec   *record.Record // the owner's copy of the claim
	input rewound
	out   stream
	lease *lease

	returned chan struct{} // the handler has ended; what follows is set before
	ended    ending
	panicked any

	done    chan struct{} // its outcome is written, or could not be; what follows is set before
	outcome outcome
	written bool
	settled *record.Record // as it was written; nil where nothing was, or nothing is left

	abandoned bool // the client is answered without the handler
}

// ending is how a handler ended.
type ending int

const (
	normally ending = iota
	late            // after its context
	abruptly        // by a panic or Goexit
)

func newAttempt(w *wrapper, x *exchange, c *record.Claim, rec *record.Record) *attempt {
	return &attempt{
		wrapper: w, x: x, claim: c, rec: rec, out: newStream(x),
		returned: make(chan struct{}), done: make(chan struct{}),
	}
}

// run runs the handler and returns the record as far as it is known. The lease
// is good until then.
func (a *attempt) run(ctx context.Context, until time.Time) (*record.Record, bool, error) {
	running, cancel := context.WithCancelCause(record.Enter(ctx, a.rec))
	lost, stop := func() { cancel(ErrLeaseLost) }, func() { cancel(nil) }
	if a.contract.Observe { // what is only observed is not stopped
		lost = func() {}
	} else {
		bounded, end := context.WithTimeout(running, a.claim.Policy.MaxExecution)
		running, stop = bounded, func() { end(); cancel(nil) }
	}
	a.lease = keepAlive(until, a.claim.Policy.Lease, a.extend, lost)
	go a.serve(running, stop)

	select {
	case <-a.returned:
	case <-running.Done():
		if !a.returns() {
			return a.abandon(ctx)
		}
	}
	<-a.done
	return a.conclusion()
}

func (a *attempt) extend(ctx context.Context) error {
	return a.store.Change(ctx, a.rec.Identity, func(seen record.Seen, now time.Time) (record.Edit, error) {
		return a.rec.Extend(seen, now, a.claim.Policy.Lease)
	})
}

// returns waits a little for a handler whose context has ended.
func (a *attempt) returns() bool {
	t := time.NewTimer(grace)
	defer t.Stop()
	select {
	case <-a.returned:
		return true
	case <-t.C:
		return false
	}
}

// serve runs the handler, whatever way it ends, and writes its outcome.
func (a *attempt) serve(ctx context.Context, release func()) {
	r := a.x.rewound(ctx, &a.input)
	a.ended = abruptly
	defer func() {
		if a.ended == abruptly {
			a.panicked = recover() // nil after Goexit
		}
		a.out.end()
		close(a.returned)
		removeParts(r)
		a.lease.stop()
		release()
		a.conclude(ctx)
		a.claims.leave(a.x.scope)
		close(a.done)
	}()
	a.next.ServeHTTP(&a.out, r)
	a.ended = normally
	if ctx.Err() != nil {
		a.ended = late
	}
}

// abandon leaves the handler to itself: its client is told that the outcome is
// unknown, and so is the record until the handler returns.
func (a *attempt) abandon(ctx context.Context) (*record.Record, bool, error) {
	a.abandoned = true
	a.out.revoke()
	a.lease.stop()
	_ = a.change(ctx, a.rec.Identity, func(seen record.Seen, _ time.Time) (record.Edit, error) { return a.rec.Lost(seen) })
	d := record.Decision{Row: "7", Problem: record.OutcomeUnknown}
	return nil, false, record.Refusal(d, record.Seen{Record: a.unknown()}, a.claim, a.Now())
}

// unknown is our claim as others find it when nobody knows how it ended.
func (a *attempt) unknown() *record.Record {
	rec := *a.rec
	rec.State, rec.Lease = record.Unknown, time.Time{}
	return &rec
}

// mark is the receipt of an answer nothing final stands behind.
func (a *attempt) mark() receipt { return a.x.receipt(refrain.Outcome{Ref: a.rec.Ref}) }

// answer ends the exchange as the handler has ended.
func (a *attempt) answer(x *exchange, err error) {
	passing := a.out.passing.Load()
	switch {
	case a.abandoned && a.out.hijacked:
	case a.abandoned && passing:
		panic(http.ErrAbortHandler) // the client must not take a part for the whole
	case a.abandoned:
		x.fail(refusal(err))
	case a.panicked != nil:
		panic(a.panicked)
	case a.ended == abruptly:
		runtime.Goexit()
	case passing || a.out.hijacked:
	default:
		a.out.send(x.w, a.receipt())
	}
}
