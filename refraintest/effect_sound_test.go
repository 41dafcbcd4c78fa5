package refraintest_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/memstore"
	"github.com/refrain-dev/refrain/refrainhttp"
	"github.com/refrain-dev/refrain/refraintest"
)

// constant is a Normalise that takes the whole body for generated.
func constant(res refrain.Result) refrain.Result {
	res.Body = nil
	return res
}

type traceKey struct{}

var sound = []struct {
	name      string
	effect    effect
	normalise func(refrain.Result) refrain.Result
}{
	{name: "one statement", effect: put},
	{name: "nothing at all", effect: func(context.Context, rows) (refrain.Result, error) { return done, nil }},
	{name: "its ref in the answer", effect: func(ctx context.Context, tx rows) (refrain.Result, error) {
		running, _ := refrain.CallFrom(ctx)
		return refrain.Result{
			Body: []byte(running.Ref), Effect: "/orders/" + running.Ref, Header: [][2]string{{"Location", running.Ref}},
		}, tx.Put(ctx, "orders", running.Ref, "tea")
	}},
	{name: "a number counted in the database", effect: func(ctx context.Context, tx rows) (refrain.Result, error) {
		last, _, err := tx.Get(ctx, "counters", "orders")
		if err != nil {
			return done, err
		}
		last += "I"
		return refrain.Result{Body: []byte(last)}, errors.Join(tx.Put(ctx, "counters", "orders", last), tx.Put(ctx, "orders", last, "tea"))
	}},
	{name: "a generated id", normalise: constant, effect: func(ctx context.Context, tx rows) (refrain.Result, error) {
		id := rand.Text()
		return refrain.Result{Body: []byte(id)}, tx.Put(ctx, "orders", id, "tea")
	}},
	{name: "a time", normalise: constant, effect: func(ctx context.Context, tx rows) (refrain.Result, error) {
		return refrain.Result{Body: fmt.Append(nil, time.Now().UnixNano())}, tx.Put(ctx, "orders", "1", "tea")
	}},
	{name: "contexts of its own below the effect's", effect: func(ctx context.Context, tx rows) (refrain.Result, error) {
		bounded, cancel := context.WithTimeout(context.WithValue(ctx, traceKey{}, "trace"), time.Minute)
		defer cancel()
		return put(bounded, tx)
	}},
	{name: "goroutines it waits for", effect: func(ctx context.Context, tx rows) (refrain.Result, error) {
		var all sync.WaitGroup
		var errs [8]error
		for i := range errs {
			all.Go(func() { errs[i] = tx.Put(ctx, "lines", fmt.Sprint(i), "tea") })
		}
		all.Wait()
		return done, errors.Join(errs[:]...)
	}},
	{name: "statements in any order", effect: func(ctx context.Context, tx rows) (refrain.Result, error) {
		for item, n := range map[string]string{"tea": "1", "coffee": "2", "milk": "3", "sugar": "4"} {
			if err := tx.Put(ctx, "lines of "+item, "1", n); err != nil {
				return done, err
			}
		}
		return done, nil
	}},
	{name: "a missing row", effect: func(ctx context.Context, tx rows) (refrain.Result, error) {
		if _, ok, err := tx.Get(ctx, "customers", "1"); err != nil {
			return done, err
		} else if ok {
			return done, nil
		}
		return done, tx.Put(ctx, "customers", "1", "new")
	}},
	{name: "a refusal of the business", effect: refraintest.FromDo(func(ctx context.Context, tx rows) (string, error) {
		stock, ok, err := tx.Get(ctx, "stock", "tea")
		if err != nil {
			return "", fmt.Errorf("the stock of tea: %w", err)
		}
		if !ok {
			return "", refrain.Reject(errors.New("no tea left"))
		}
		return stock, nil
	})},
	{name: "a value", effect: refraintest.FromDo(func(ctx context.Context, tx rows) (map[string]int, error) {
		return map[string]int{"a": 1, "b": 2, "c": 3}, tx.Put(ctx, "orders", "1", "tea")
	})},
	{name: "a handler", effect: handled(func(w http.ResponseWriter, r *http.Request, tx rows) error {
		item, err := io.ReadAll(r.Body)
		if err != nil {
			return err
		}
		running, _ := refrain.CallFrom(r.Context())
		if err := tx.Put(r.Context(), "orders", running.Ref, string(item)); err != nil {
			return err
		}
		w.Header().Set("Location", "/orders/"+running.Ref)
		w.WriteHeader(http.StatusCreated)
		_, err = w.Write(item)
		return err
	})},
	{name: "a handler that refuses", effect: handled(func(w http.ResponseWriter, r *http.Request, tx rows) error {
		if err := tx.Put(r.Context(), "orders", "1", "tea"); err != nil {
			return err
		}
		refrainhttp.Refuse(w)
		w.WriteHeader(http.StatusConflict)
		return nil
	})},
}

func handled(h func(http.ResponseWriter, *http.Request, rows) error) effect {
	return refraintest.FromHandler(call(), func() *http.Request {
		return httptest.NewRequest("POST", "/orders", strings.NewReader("tea"))
	}, h)
}

func TestEffectSound(t *testing.T) {
	t.Parallel()
	for _, tt := range sound {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			refraintest.Effect(t, newShop(), call(), tt.effect, refraintest.EffectConfig[rows]{
				Watch: watch, Normalise: tt.normalise, Probe: func() any { return 0 },
			})
		})
	}
}

// TestEffectRuns counts: two undisturbed runs, two for each statement, and the
// one that commits, whose rows alone stay.
func TestEffectRuns(t *testing.T) {
	t.Parallel()
	s, runs := newShop(), 0
	refraintest.Effect(t, s, call(), func(ctx context.Context, tx rows) (refrain.Result, error) {
		runs++
		if err := tx.Put(ctx, "orders", "1", "tea"); err != nil {
			return done, err
		}
		return done, tx.Put(ctx, "runs", fmt.Sprint(runs), "")
	}, refraintest.EffectConfig[rows]{Watch: watch})
	if runs != 7 {
		t.Errorf("%d runs, want 7", runs)
	}
	for key := range s.db.Scan("runs") {
		if key != "7" {
			t.Errorf("run %s was committed, want run 7", key)
		}
	}
	if _, ok := s.db.Get("runs", "7"); !ok {
		t.Error("the last run was not committed")
	}
}

func TestEffectMaxSteps(t *testing.T) {
	t.Parallel()
	r, runs := &recorder{TB: t}, 0
	refraintest.Effect(r, newShop(), call(), func(ctx context.Context, tx rows) (refrain.Result, error) {
		runs++
		for i := range 10 {
			if err := tx.Put(ctx, "lines", fmt.Sprint(i), ""); err != nil {
				return done, err
			}
		}
		return done, nil
	}, refraintest.EffectConfig[rows]{Watch: watch, MaxSteps: 2})
	r.want(t, "")
	if runs != 7 || len(r.notes) != 1 || !strings.Contains(r.notes[0], "of 10 statements the first 2 are interrupted") {
		t.Errorf("%d runs, notes %q", runs, r.notes)
	}
}

// TestEffectUnwatched: a transaction nobody can see into is still run twice,
// and the test is told what is not checked.
func TestEffectUnwatched(t *testing.T) {
	t.Parallel()
	r := &recorder{TB: t}
	db := memstore.New(memstore.Options{})
	n := 0
	refraintest.Effect(r, db, call(), func(_ context.Context, tx memstore.Tx) (refrain.Result, error) {
		n++
		return refrain.Result{Body: fmt.Append(nil, n)}, tx.Put("orders", "1", nil)
	})
	r.want(t, "the second run answers otherwise")
	if len(r.notes) != 1 || !strings.Contains(r.notes[0], "the statements of memstore.Tx are not visible") {
		t.Errorf("notes %q", r.notes)
	}
}

// TestFromHandlerNotReached: a request the guard refuses must not pass for an
// effect that did nothing.
func TestFromHandlerNotReached(t *testing.T) {
	t.Parallel()
	e := refraintest.FromHandler(call(), func() *http.Request { return httptest.NewRequest("GET", "/orders", nil) },
		func(http.ResponseWriter, *http.Request, rows) error { return nil })
	if _, err := e(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "the request did not reach the handler: 405") {
		t.Errorf("a GET: %v", err)
	}
}

// TestFromHandlerUndeclared: what the guard would not record is a fault.
func TestFromHandlerUndeclared(t *testing.T) {
	t.Parallel()
	r := &recorder{TB: t}
	refraintest.Effect(r, newShop(), call(), handled(func(w http.ResponseWriter, r *http.Request, tx rows) error {
		err := tx.Put(r.Context(), "orders", "1", "tea")
		w.WriteHeader(http.StatusNotFound)
		return err
	}), refraintest.EffectConfig[rows]{Watch: watch})
	r.want(t, "the effect fails although nothing is wrong: ")
	r.want(t, "404")
}

func TestFromDo(t *testing.T) {
	t.Parallel()
	from := func(value any, err error) (refrain.Result, error) {
		return refraintest.FromDo(func(context.Context, rows) (any, error) { return value, err })(t.Context(), nil)
	}
	if res, err := from([]int{7}, nil); err != nil || res.Rejected || string(res.Body) != "[7]" {
		t.Errorf("a value: %+v, %v", res, err)
	}
	if res, err := from(7, refrain.Reject(errors.New("no"))); err != nil || !res.Rejected || string(res.Body) != `"no"` {
		t.Errorf("a rejection: %+v, %v", res, err)
	}
	if _, err := from(7, io.EOF); !errors.Is(err, io.EOF) {
		t.Errorf("an error: %v", err)
	}
	if _, err := from(func() {}, nil); err == nil {
		t.Error("a value that is no JSON passed")
	}
}
