package refrainhttp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

// Wrap guards a handler that commits for itself or calls others. It panics at
// start-up on what [Handle] panics on, except that RerunLost is welcome, and on
// a lease below one second. As middleware it is one line:
//
//	func(next http.Handler) http.Handler { return refrainhttp.Wrap(guard, store, contract, next) }
//
// The claim is committed before the handler begins and kept alive while it runs.
// What it answers is written before the client sees it: 2xx and 3xx as
// confirmed, 4xx as rejected; 5xx, 401, 407, 408, 425, 429, a panic, a run
// longer than MaxExecution, an answer shorter than declared and a hijacked
// connection as unknown, because no status proves that nothing happened. An
// unknown outcome is not run again (row 7) unless the contract has RerunLost.
// Only [NotStarted] and the statuses in Contract.FreeOn free the key.
//
// The handler's context does not end with the client. It ends at MaxExecution
// and when the lease is lost, then with [ErrLeaseLost] as its cause; a handler
// that does not return then is left to itself, its client is told row 7, and
// what it answers later is still recorded. refrain.CallFrom gives ref, attempt
// and fence.
//
// Answers up to MaxResponse are kept back until they are recorded. On a Flush,
// an event stream or a longer body the answer passes through from there on and
// the record keeps its digest: repeats get row 5.
//
// Methods outside Contract.Methods, and requests without a key where it is
// optional, reach the handler as they came.
func Wrap(guard Guard, store record.Store, c refrain.Contract, next http.Handler) http.Handler {
	switch {
	case store == nil || next == nil:
		panic("refrainhttp: Wrap of " + c.Operation + " needs a store and a handler")
	case c.Lease != 0 && c.Lease < time.Second:
		panic(fmt.Sprintf("refrainhttp: Contract.Lease of %q is %v, 1s is the least", c.Operation, c.Lease))
	}
	w := &wrapper{store: store, next: next, claims: perScope{most: guard.MaxClaimsPerScope}}
	for _, driver := range []*record.Driver{&w.driver, &w.beaten} {
		driver.Load, driver.Change = store.Load, store.Change
	}
	w.route = newRoute(guard, c, w.execute)
	w.pass = next
	return w.route
}

// ErrLeaseLost is the cause of a wrapped handler's context when its claim is no
// longer its own, or could not be kept alive: it must stop.
var ErrLeaseLost = record.ErrLeaseLost

// wrapper is a route whose handler commits for itself.
type wrapper struct {
	*route
	store  record.Store
	next   http.Handler
	claims perScope

	driver record.Driver
	beaten record.Driver // for leaders another process was faster than
}

func (w *wrapper) execute(ctx context.Context, call refrain.Call, x *exchange) (refrain.Outcome, error) {
	return call.Drive(ctx, &w.driver, w.Observer, func(ctx context.Context, c *record.Claim) (*record.Record, bool, error) {
		begun := time.Now()
		rec, fresh, err := w.run(ctx, x, c)
		if !errors.Is(err, record.InProgress) {
			return rec, fresh, err
		}
		c.Policy.Wait = max(c.Policy.Wait-time.Since(begun), 0)
		return w.beaten.Drive(ctx, c, func(ctx context.Context) (*record.Record, bool, error) { return w.run(ctx, x, c) })
	})
}

// run claims the identity and, if it is ours, runs the handler.
func (w *wrapper) run(ctx context.Context, x *exchange, c *record.Claim) (*record.Record, bool, error) {
	if !w.claims.enter(x.scope) {
		return nil, false, &record.Error{Problem: record.StoreUnavailable, Row: "9", RetryAfter: time.Second, Err: errCrowded}
	}
	began := false // the attempt leaves when its handler has returned
	defer func() {
		if !began {
			w.claims.leave(x.scope)
		}
	}()
	until := time.Now().Add(c.Policy.Lease) // not later than the store's, which begins to count after us
	rec, fresh, err := w.claim(ctx, c)
	if err != nil || !fresh {
		return rec, fresh, err
	}
	if err = x.hold(); err == nil && !time.Now().Before(until) {
		err = errors.New("refrainhttp: the claim took longer than its lease")
	}
	if err == nil {
		began = true
		x.attempt = newAttempt(w, x, c, rec)
		return x.attempt.run(ctx, until)
	}
	_ = w.change(ctx, c.Identity, func(seen record.Seen, _ time.Time) (record.Edit, error) { return rec.Release(seen, c.Policy) })
	return nil, false, err // where the release failed the lease ends the claim
}

var errCrowded = &answerFault{record.StoreUnavailable,
	"Too many actions of this scope are under way, so nothing was executed. Send the same request again with the same key."}
