package refraintest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/refrainhttp"
)

// FromDo makes the effect of a [refrain.Do] fit for [Effect]: its value becomes
// the result's body, JSON, and a [refrain.Reject] a recorded refusal, as Do does
// it.
func FromDo[T, R any](effect func(ctx context.Context, tx T) (R, error)) func(context.Context, T) (refrain.Result, error) {
	return func(ctx context.Context, tx T) (refrain.Result, error) {
		value, err := effect(ctx, tx)
		var refused *refrain.Rejection
		if errors.As(err, &refused) {
			reason, err := json.Marshal(refused.Error())
			return refrain.Result{Rejected: true, Body: reason}, err
		}
		if err != nil {
			return refrain.Result{}, err
		}
		body, err := json.Marshal(value)
		return refrain.Result{Body: body}, err
	}
}

// FromHandler makes a handler of [refrainhttp.Handle] fit for [Effect]. It runs
// behind the real guard under the call's contract and scope, so Record, Refuse
// and undeclared answers count as they do in service; an answer the guard would
// not record is an error. request makes the request anew for each run.
func FromHandler[T any](call refrain.Call, request func() *http.Request,
	handler func(w http.ResponseWriter, r *http.Request, tx T) error,
) func(context.Context, T) (refrain.Result, error) {
	return func(ctx context.Context, tx T) (result refrain.Result, err error) {
		w := httptest.NewRecorder()
		reached := false
		here := executeFunc[T](func(effect func(context.Context, T) (refrain.Result, error)) error {
			reached = true
			result, err = effect(ctx, tx)
			return err
		})
		guard := refrainhttp.Guard{Principal: func(*http.Request) (refrain.Scope, error) { return call.Scope, nil }}
		r := request()
		r.Header.Set(refrainhttp.DefaultHeader, "refraintest")
		contract := call.Contract
		contract.KeyTime = refrain.KeyTimeNone // the engine, not this guard, has the call's key
		contract.Observe = false
		refrainhttp.Handle(guard, here, contract, handler).ServeHTTP(w, r)
		if !reached {
			return result, fmt.Errorf("refraintest: the request did not reach the handler: %d %s", w.Code, w.Body)
		}
		return result, err
	}
}

// executeFunc is an executor inside a transaction that somebody else ends.
type executeFunc[T any] func(effect func(context.Context, T) (refrain.Result, error)) error

func (f executeFunc[T]) Execute(_ context.Context, _ refrain.Call, effect func(context.Context, T) (refrain.Result, error)) (refrain.Outcome, error) {
	if err := f(effect); err != nil {
		return refrain.Outcome{}, err
	}
	return refrain.Outcome{}, errRollback // nobody reads this answer
}
