package refrainhttp

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

// Handle guards one route whose handler works in a transaction of ex. It
// panics at start-up on an invalid contract, a contract that guards a safe
// method or has RerunLost, a missing principal function, executor or handler.
//
// The handler's answer is kept back until the transaction has committed. 2xx,
// 302 and 303 are recorded; other answers need [Record] or [Refuse] before
// WriteHeader. A returned error rolls back and nothing is recorded, except
// refrain.Reject, which is recorded as a refusal. After an error the handler's
// answer is sent if it chose a status of 400 or more, else 500 handler-failed.
//
// An optional key that is absent is replaced by a fresh random one: the request
// is an action of its own, recorded where nobody can repeat it.
//
// Methods outside Contract.Methods have no transaction and are answered 405,
// OPTIONS 204, both with Allow; use method patterns such as "POST /orders" and
// give GET its own handler.
func Handle[T any](guard Guard, ex refrain.Executor[T], c refrain.Contract,
	handler func(w http.ResponseWriter, r *http.Request, tx T) error,
) http.Handler {
	if ex == nil || handler == nil {
		panic("refrainhttp: Handle of " + c.Operation + " needs an executor and a handler")
	}
	if c.RerunLost {
		panic("refrainhttp: Contract.RerunLost of " + c.Operation + " is for Wrap: Handle never loses an outcome")
	}
	return newRoute(guard, c, func(ctx context.Context, call refrain.Call, x *exchange) (refrain.Outcome, error) {
		return ex.Execute(ctx, call, func(ctx context.Context, tx T) (refrain.Result, error) {
			w, r, err := x.begin(ctx)
			if err != nil {
				return refrain.Result{}, err
			}
			defer removeParts(r)
			return w.settle(handler(w, r, tx))
		})
	})
}

// route is one guarded endpoint, free of the transaction's type.
type route struct {
	Guard
	contract refrain.Contract
	methods  []string
	allow    string
	waiters  perScope
	pass     http.Handler // what runs without a record; nil under Handle, which has nowhere to run it
	execute  func(ctx context.Context, call refrain.Call, x *exchange) (refrain.Outcome, error)
}

func newRoute(g Guard, c refrain.Contract, execute func(context.Context, refrain.Call, *exchange) (refrain.Outcome, error)) *route {
	if err := g.check(c); err != nil {
		panic(err)
	}
	methods := c.Methods
	if methods == nil {
		methods = []string{http.MethodPatch, http.MethodPost}
	}
	allow := append([]string{http.MethodOptions}, methods...)
	slices.Sort(allow)
	return &route{
		Guard: g.withDefaults(), contract: c, methods: methods, allow: strings.Join(allow, ", "),
		waiters: perScope{most: g.MaxWaitersPerScope}, execute: execute,
	}
}

// ServeHTTP keeps the order: authenticate, authorise, key, body, look up.
func (rt *route) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !slices.Contains(rt.methods, r.Method) {
		rt.unguarded(w, r)
		return
	}
	started := time.Now()
	scope, refusal := rt.authenticate(r)
	if refusal != nil {
		rt.refuse(w, r, refusal, started)
		return
	}
	x := &exchange{route: rt, w: w, r: r, scope: scope}
	defer x.close()
	refusal = x.prepare()
	if refusal != nil {
		rt.tell(r, refusal, started)
	}
	switch {
	case x.passes(refusal):
		rt.tell(r, &record.Error{Row: "11"}, started)
		rt.pass.ServeHTTP(w, r)
	case rt.contract.Observe:
		x.observe(refusal)
	case refusal != nil:
		rt.problem(w, r, refusal)
	case x.key == "":
		rt.tell(r, &record.Error{Row: "11"}, started)
		x.unprotected()
		x.alone()
	default:
		x.answer(x.call(x.key))
	}
}

func (rt *route) unguarded(w http.ResponseWriter, r *http.Request) {
	if rt.pass != nil {
		rt.pass.ServeHTTP(w, r)
		return
	}
	w.Header().Set("Allow", rt.allow)
	if r.Method == http.MethodOptions {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	http.Error(w, http.StatusText(http.StatusMethodNotAllowed), http.StatusMethodNotAllowed)
}

func (rt *route) refuse(w http.ResponseWriter, r *http.Request, e *record.Error, started time.Time) {
	rt.tell(r, e, started)
	rt.problem(w, r, e)
}

// tell gives the observer a decision the engine did not make.
func (rt *route) tell(r *http.Request, e *record.Error, started time.Time) {
	if rt.Observer != nil {
		rt.Observer.Observe(r.Context(), refrain.Event{
			Operation: rt.contract.Operation, Row: e.Row, Problem: e.Problem, Ref: e.Ref, Took: time.Since(started), Err: e.Err,
		})
	}
}
