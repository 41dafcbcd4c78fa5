package refraintest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/refraintest"
)

type effect = func(ctx context.Context, tx rows) (refrain.Result, error)

var done = refrain.Result{Status: 201, Body: []byte("order")}

// fault is one planted fault: make gives the effect and what observes it from
// outside, and report is part of what must be said.
type fault struct {
	name   string
	make   func(s shop) (effect, func() any)
	report string
}

// plain is for effects that need nothing around them.
func plain(e effect) func(shop) (effect, func() any) {
	return func(shop) (effect, func() any) { return e, nil }
}

func put(ctx context.Context, tx rows) (refrain.Result, error) {
	return done, tx.Put(ctx, "orders", "1", "tea")
}

var faults = []fault{
	{"counts in memory", func(shop) (effect, func() any) {
		n := 0
		return func(ctx context.Context, tx rows) (refrain.Result, error) {
			n++
			return refrain.Result{Body: fmt.Appendf(nil, "order %d", n)}, tx.Put(ctx, "orders", "1", "tea")
		}, nil
	}, `the second run answers otherwise than the first, although that one was rolled back: the body is "order 2", it was "order 1"`},
	{"counts in a header field", func(shop) (effect, func() any) {
		n := 0
		return func(ctx context.Context, tx rows) (refrain.Result, error) {
			n++
			return refrain.Result{Header: [][2]string{{"Location", fmt.Sprint("/", n)}}}, tx.Put(ctx, "orders", "1", "tea")
		}, nil
	}, `the header is [["Location" "/2"]]`},
	{"answers with another status", func(shop) (effect, func() any) {
		n := 200
		return func(ctx context.Context, tx rows) (refrain.Result, error) {
			n++
			return refrain.Result{Status: n}, tx.Put(ctx, "orders", "1", "tea")
		}, nil
	}, `the status is 202, it was 201`},
	{"names another effect", func(shop) (effect, func() any) {
		n := 0
		return func(ctx context.Context, tx rows) (refrain.Result, error) {
			n++
			return refrain.Result{Effect: fmt.Sprint(n)}, tx.Put(ctx, "orders", "1", "tea")
		}, nil
	}, `the effect reference is "2", it was "1"`},
	{"refuses the second time", func(shop) (effect, func() any) {
		seen := false
		return func(ctx context.Context, tx rows) (refrain.Result, error) {
			again := seen
			seen = true
			return refrain.Result{Rejected: again}, tx.Put(ctx, "orders", "1", "tea")
		}, nil
	}, `rejected is true, it was false`},
	{"fails the second time", func(shop) (effect, func() any) {
		seen := false
		return func(ctx context.Context, tx rows) (refrain.Result, error) {
			if seen {
				return done, errors.New("file exists")
			}
			seen = true
			return put(ctx, tx)
		}, nil
	}, `the second run fails, although the first was rolled back: file exists`},
	{"remembers a row between runs", func(shop) (effect, func() any) {
		price := ""
		return func(ctx context.Context, tx rows) (_ refrain.Result, err error) {
			if price == "" {
				if _, _, err = tx.Get(ctx, "prices", "tea"); err != nil {
					return done, err
				}
				price = "3"
			}
			return put(ctx, tx)
		}, nil
	}, `the second run sends other statements than the first, although the first was rolled back: ["get prices" "put orders"], then ["put orders"]`},
	{"sends a mail", func(shop) (effect, func() any) {
		mails := 0
		return func(ctx context.Context, tx rows) (refrain.Result, error) {
			mails++
			return put(ctx, tx)
		}, func() any { return mails }
	}, `a run that was rolled back left a trace outside the database: Probe told 0 before it, 1 after it`},
	{"sends a mail when a statement fails", func(shop) (effect, func() any) {
		mails := 0
		return func(ctx context.Context, tx rows) (refrain.Result, error) {
			res, err := put(ctx, tx)
			if err != nil {
				mails++
			}
			return res, err
		}, func() any { return mails }
	}, `Probe told 0 before it, 1 after it`},
	{"swallows the error of a write", plain(func(ctx context.Context, tx rows) (refrain.Result, error) {
		_ = tx.Put(ctx, "log", "1", "")
		return put(ctx, tx)
	}), `statement 1, "put log", failed and the effect reported success all the same`},
	{"takes a failed read for no row", plain(func(ctx context.Context, tx rows) (refrain.Result, error) {
		if err := tx.Put(ctx, "orders", "1", "tea"); err != nil {
			return done, err
		}
		if _, ok, err := tx.Get(ctx, "customers", "1"); err != nil || !ok {
			return done, nil
		}
		return done, nil
	}), `statement 2, "get customers", failed and the effect reported success all the same`},
	{"takes a cancellation for success", plain(func(ctx context.Context, tx rows) (refrain.Result, error) {
		res, err := put(ctx, tx)
		if errors.Is(err, context.Canceled) {
			err = nil
		}
		return res, err
	}), `the context ended before statement 1, "put orders", and the effect reported success all the same`},
	{"refuses for ever when a statement fails", plain(refraintest.FromDo(func(ctx context.Context, tx rows) (string, error) {
		return "order", refrain.Reject(tx.Put(ctx, "orders", "1", "tea"))
	})), `statement 1, "put orders", failed and the effect recorded a refusal: every retry would be refused`},
	{"panics when a statement fails", plain(func(ctx context.Context, tx rows) (refrain.Result, error) {
		if err := tx.Put(ctx, "orders", "1", "tea"); err != nil {
			panic("no order")
		}
		return done, nil
	}), `statement 1, "put orders", failed and the effect panicked: no order`},
	{"panics", plain(func(context.Context, rows) (refrain.Result, error) { panic("at once") }),
		`the effect fails although nothing is wrong: refraintest: the effect panicked: at once`},
	{"runs a statement in the background", plain(func(ctx context.Context, tx rows) (refrain.Result, error) {
		return put(context.Background(), tx)
	}), `the statement "put orders" ran on a context that is not the effect's`},
	{"runs a statement on a detached context", plain(func(ctx context.Context, tx rows) (refrain.Result, error) {
		return put(context.WithoutCancel(ctx), tx)
	}), `the statement "put orders" ran on a context detached from the effect's`},
	{"keeps its context", func(shop) (effect, func() any) {
		var kept context.Context
		return func(ctx context.Context, tx rows) (refrain.Result, error) {
			if kept == nil {
				kept = ctx
			}
			return put(kept, tx)
		}, nil
	}, `the statement "put orders" ran on the context of an earlier run`},
	{"keeps its transaction", func(shop) (effect, func() any) {
		var kept rows
		return func(ctx context.Context, tx rows) (refrain.Result, error) {
			if kept != nil {
				_ = kept.Put(ctx, "log", "1", "")
			}
			kept = tx
			return put(ctx, tx)
		}, nil
	}, `the statement "put log" came after the effect had returned`},
	{"leaves a goroutine its transaction", plain(func(ctx context.Context, tx rows) (refrain.Result, error) {
		go func() {
			<-ctx.Done()
			_ = tx.Put(ctx, "log", "1", "")
		}()
		return put(ctx, tx)
	}), `the statement "put log" came after the effect had returned`},
	{"fails", plain(func(context.Context, rows) (refrain.Result, error) { return done, errors.New("no such customer") }),
		`the effect fails although nothing is wrong: no such customer`},
	{"executes inside", func(s shop) (effect, func() any) {
		return func(ctx context.Context, tx rows) (refrain.Result, error) {
			inner := call()
			inner.Key = "inner"
			_, err := s.Execute(ctx, inner, put)
			return done, err
		}, nil
	}, `the effect fails although nothing is wrong: refrain: Execute inside an effect`},
	{"does not recover from a failed run", func(shop) (effect, func() any) {
		broken := false
		return func(ctx context.Context, tx rows) (refrain.Result, error) {
			if broken {
				return done, errors.New("closed")
			}
			res, err := put(ctx, tx)
			broken = err != nil
			return res, err
		}, nil
	}, `after runs that failed, the effect fails although nothing is wrong any more: closed`},
	{"answers otherwise after a failed run", func(shop) (effect, func() any) {
		tries := 1
		return func(ctx context.Context, tx rows) (refrain.Result, error) {
			if err := tx.Put(ctx, "orders", "1", "tea"); err != nil {
				tries++
				return done, err
			}
			return refrain.Result{Body: fmt.Append(nil, tries)}, nil
		}, nil
	}, `the run after those that failed answers otherwise than the first`},
	{"answers more than can be kept", plain(func(ctx context.Context, tx rows) (refrain.Result, error) {
		return refrain.Result{Body: make([]byte, refrain.DefaultMaxResponse+1)}, tx.Put(ctx, "orders", "1", "tea")
	}), `the effect reported success and its transaction did not commit`},
}

func TestEffectFaults(t *testing.T) {
	t.Parallel()
	for _, tt := range faults {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, r := newShop(), &recorder{TB: t}
			effect, probe := tt.make(s)
			refraintest.Effect(r, s, call(), effect, refraintest.EffectConfig[rows]{Watch: watch, Probe: probe})
			r.want(t, tt.report)
		})
	}
}

// TestEffectLingering: a goroutine that never ends is shown by its stack.
func TestEffectLingering(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	defer close(release)
	r := &recorder{TB: t}
	refraintest.Effect(r, newShop(), call(), func(ctx context.Context, tx rows) (refrain.Result, error) {
		go linger(release)
		return put(ctx, tx)
	})
	r.want(t, "a goroutine the effect started goes on after the effect has returned")
	r.want(t, "refraintest_test.linger")
}

func linger(release chan struct{}) { <-release }

// TestEffectKeyTaken: a call that replays would show nothing.
func TestEffectKeyTaken(t *testing.T) {
	t.Parallel()
	s, r := newShop(), &recorder{TB: t}
	if _, err := s.Execute(t.Context(), call(), put); err != nil {
		t.Fatal(err)
	}
	refraintest.Effect(r, s, call(), put)
	r.want(t, "Execute did not run the effect but replayed an earlier one")
	other := call()
	other.Input = []byte("two")
	refraintest.Effect(r, s, other, put)
	r.want(t, "Execute did not run the effect: ")
}

// TestEffectReportsOnce: the same fault in every run is one report.
func TestEffectReportsOnce(t *testing.T) {
	t.Parallel()
	r := &recorder{TB: t}
	refraintest.Effect(r, newShop(), call(), func(_ context.Context, tx rows) (refrain.Result, error) {
		return put(context.Background(), tx)
	}, refraintest.EffectConfig[rows]{Watch: watch})
	if len(r.reports) != 1 {
		t.Errorf("reports %q, want one", r.reports)
	}
}

// TestEffectAfterwards: who comes after the check has ended is refused in
// silence, since the test may be over.
func TestEffectAfterwards(t *testing.T) {
	t.Parallel()
	var kept rows
	r := &recorder{TB: t}
	refraintest.Effect(r, newShop(), call(), func(ctx context.Context, tx rows) (refrain.Result, error) {
		kept = tx
		return put(ctx, tx)
	}, refraintest.EffectConfig[rows]{Watch: watch})
	if err := kept.Put(t.Context(), "log", "1", ""); err == nil || !strings.Contains(err.Error(), "the effect has returned") {
		t.Errorf("a statement after all: %v", err)
	}
	r.want(t, "")
}

// engines that break their promises to the effect's author.
type engine func(ctx context.Context, call refrain.Call, effect effect) (refrain.Outcome, error)

func (e engine) Execute(ctx context.Context, call refrain.Call, effect func(context.Context, rows) (refrain.Result, error)) (refrain.Outcome, error) {
	return e(ctx, call, effect)
}

func TestEffectOnBrokenEngines(t *testing.T) {
	t.Parallel()
	var runs atomic.Int64
	tests := []struct {
		report string
		engine engine
	}{
		{"Execute reported success for a run that returned an error", func(ctx context.Context, call refrain.Call, effect effect) (refrain.Outcome, error) {
			res, _ := effect(ctx, newShopRows(t))
			return refrain.Outcome{Result: res}, nil
		}},
		{"the effect ran again for a repeat of a committed call", func(ctx context.Context, call refrain.Call, effect effect) (refrain.Outcome, error) {
			res, err := effect(ctx, newShopRows(t))
			return refrain.Outcome{Result: res}, err
		}},
		{`a repeat of the committed call was answered otherwise: the body is "", it was "order"`, func(ctx context.Context, call refrain.Call, effect effect) (refrain.Outcome, error) {
			if runs.Add(1) == 4 { // two undisturbed runs and the committed one come first
				return refrain.Outcome{Result: refrain.Result{Status: 201}}, nil
			}
			res, err := effect(ctx, newShopRows(t))
			return refrain.Outcome{Result: res}, err
		}},
	}
	for _, tt := range tests {
		r := &recorder{TB: t}
		refraintest.Effect(r, tt.engine, call(), put)
		r.want(t, tt.report)
	}
}

// newShopRows is a transaction that nobody ends.
func newShopRows(t *testing.T) rows {
	t.Helper()
	tx, err := newShop().db.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return memoryRows{tx}
}
