package refraintest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
)

// ErrInjected is the error of a statement that [Effect] made fail.
var ErrInjected = errors.New("refraintest: this statement was made to fail")

// DefaultMaxSteps is how many statements of an effect are interrupted.
const DefaultMaxSteps = 100

// patience is how long a goroutine of the effect may take to end.
const patience = time.Second

// EffectConfig says what [Effect] cannot know. The zero value works.
type EffectConfig[T any] struct {
	// Normalise replaces what rightly differs between two runs, such as a
	// generated id or a time, by something fixed. The action's ref has been
	// replaced by {ref} already.
	Normalise func(refrain.Result) refrain.Result
	// Probe observes what the effect must leave alone: mails sent, calls made,
	// rows of another database. Its value is compared with reflect.DeepEqual
	// around every run that is rolled back.
	Probe func() any
	// Watch makes the statements of T visible where T is not refrain.SQLTx: it
	// returns a T that calls before ahead of each statement and, where that
	// gives an error, returns it instead of running the statement. ctx is the
	// statement's context, nil where it has none.
	Watch func(tx T, before func(ctx context.Context, statement string) error) T
	// MaxSteps bounds how many statements are interrupted, the first ones of
	// the effect; 0 means DefaultMaxSteps. Each costs two runs.
	MaxSteps int
}

// Effect runs an effect on the caller's own engine, again and again, and
// reports through t what an effect must not do; the package documentation lists
// it. The call must be one that executes: its key is new to the store. All runs
// but the last are rolled back; the last one commits, so that the test can look
// at its rows.
func Effect[T any](t testing.TB, ex refrain.Executor[T], call refrain.Call,
	effect func(ctx context.Context, tx T) (refrain.Result, error), config ...EffectConfig[T],
) {
	t.Helper()
	c := &check[T]{ex: ex, call: call, effect: effect, label: newLabel(), findings: &findings{t: t}}
	if len(config) > 0 {
		c.EffectConfig = config[0]
	}
	if c.MaxSteps == 0 {
		c.MaxSteps = DefaultMaxSteps
	}
	defer c.findings.close()

	first := c.rehearse(plan{})
	if first == nil {
		return
	}
	if first.err != nil {
		c.report("the effect fails although nothing is wrong: %v", first.err)
		return
	}
	c.again(first)
	c.interrupt(first.steps)
	c.commit(first)
	if stacks := lingering(c.label, patience); stacks != "" {
		c.report("a goroutine the effect started goes on after the effect has returned:\n%s\tWait for it before returning.", stacks)
	}
}

// check is one use of [Effect].
type check[T any] struct {
	EffectConfig[T]
	*findings
	ex        refrain.Executor[T]
	call      refrain.Call
	effect    func(ctx context.Context, tx T) (refrain.Result, error)
	label     string // of the goroutines the effect starts
	unwatched bool
	differs   bool // two undisturbed runs did; one report of it is enough
}

var errRollback = errors.New("refraintest: this run is rolled back")

// rehearse runs the effect, disturbed as planned, and rolls it back. It returns
// nil where the effect was not run.
func (c *check[T]) rehearse(p plan) *run {
	before := c.probe()
	r, _, err := c.execute(p, func(*run) error { return errRollback })
	switch {
	case r == nil && err == nil:
		c.report("Execute did not run the effect but replayed an earlier one: give the call a key that is new to the store")
	case r == nil:
		c.report("Execute did not run the effect: %v", err)
	case err == nil:
		c.report("Execute reported success for a run that returned an error")
	case !errors.Is(err, errRollback) && r.err == nil:
		c.report("the effect reported success although its transaction had become unusable: %v.\n"+
			"\tIt ignores the error of a statement.", err)
	default:
		if after := c.probe(); !reflect.DeepEqual(before, after) {
			c.report("a run that was rolled back left a trace outside the database: Probe told %v before it, %v after it.\n"+
				"\tAn effect may run again, so it does nothing but database work with its tx; do the rest after Execute.", before, after)
		}
	}
	return r
}

func (c *check[T]) probe() any {
	if c.Probe == nil {
		return nil
	}
	return c.Probe()
}

// execute runs the effect through the engine. end says what the engine is told
// after it. The engine may run it several times; the newest run is returned.
func (c *check[T]) execute(p plan, end func(*run) error) (r *run, out refrain.Outcome, err error) {
	out, err = c.ex.Execute(c.t.Context(), c.call, func(ctx context.Context, tx T) (refrain.Result, error) {
		r = newRun(ctx, p, c.findings)
		watched := c.watch(tx, r)
		r.perform(c.label, func(ctx context.Context) (refrain.Result, error) { return c.effect(ctx, watched) })
		if err := end(r); err != nil {
			return refrain.Result{}, err
		}
		return r.result, r.err
	})
	return r, out, err
}

// watch makes the statements of tx visible to r, if it can be done.
func (c *check[T]) watch(tx T, r *run) T {
	if c.Watch != nil {
		return c.Watch(tx, r.before)
	}
	if inner, ok := any(tx).(refrain.SQLTx); ok {
		if watched, ok := any(watchSQL(inner, r)).(T); ok {
			return watched
		}
	}
	if !c.unwatched {
		c.unwatched = true
		c.t.Logf("refraintest: the statements of %T are not visible, so none is interrupted; set EffectConfig.Watch", tx)
	}
	return tx
}

// again is the second undisturbed run: it must do what the first one did.
func (c *check[T]) again(first *run) {
	second := c.rehearse(plan{})
	switch {
	case second == nil:
	case second.err != nil:
		c.report("the second run fails, although the first was rolled back: %v.\n\tThe effect keeps state outside its transaction.", second.err)
	default:
		c.compare("the second run", first, second)
		a, b := slices.Sorted(slices.Values(first.steps)), slices.Sorted(slices.Values(second.steps))
		if !slices.Equal(a, b) {
			c.report("the second run sends other statements than the first, although the first was rolled back: %q, then %q.\n"+
				"\tThe effect remembers something between runs.", first.steps, second.steps)
		}
	}
}

func (c *check[T]) compare(which string, first, later *run) {
	if d := difference(c.comparable(first), c.comparable(later)); d != "" && !c.differs {
		c.differs = true
		c.report("%s answers otherwise than the first, although that one was rolled back: %s.\n"+
			"\tThe effect keeps state outside its transaction; if it is an id or a time that rightly differs, replace it in Normalise.", which, d)
	}
}

// interrupt takes each statement of the effect in turn: once it fails, once the
// context ends before it.
func (c *check[T]) interrupt(steps []string) {
	if len(steps) > c.MaxSteps {
		c.t.Logf("refraintest: of %d statements the first %d are interrupted; EffectConfig.MaxSteps can raise that", len(steps), c.MaxSteps)
		steps = steps[:c.MaxSteps]
	}
	for i := range steps {
		for _, p := range []plan{{step: i + 1}, {step: i + 1, cancel: true}} {
			r := c.rehearse(p)
			if r == nil {
				return
			}
			if !r.hit {
				continue // this run took another way
			}
			what := fmt.Sprintf("statement %d, %q, failed", p.step, r.steps[p.step-1])
			if p.cancel {
				what = fmt.Sprintf("the context ended before statement %d, %q,", p.step, r.steps[p.step-1])
			}
			switch {
			case r.panicked != nil:
				c.report("%s and the effect panicked: %v.\n\tCheck the statement's error before using its result.", what, r.panicked)
			case r.err != nil:
			case r.result.Rejected:
				c.report("%s and the effect recorded a refusal: every retry would be refused for a passing fault.\n"+
					"\tReject only what the business refuses; return any other error as it is.", what)
			default:
				c.report("%s and the effect reported success all the same.\n"+
					"\tReturn the error: half an effect must not be committed.", what)
			}
		}
	}
}

// commit is the last run, which stays, and its repeat, which must not run.
func (c *check[T]) commit(first *run) {
	r, out, err := c.execute(plan{}, func(*run) error { return nil })
	switch {
	case r == nil:
		c.report("Execute did not run the effect again after its runs were rolled back: %v", err)
		return
	case r.err != nil:
		c.report("after runs that failed, the effect fails although nothing is wrong any more: %v.\n"+
			"\tIt keeps state outside its transaction.", r.err)
		return
	case err != nil:
		c.report("the effect reported success and its transaction did not commit: %v", err)
		return
	}
	c.compare("the run after those that failed", first, r)
	repeat, replay, err := c.execute(plan{}, func(*run) error { return nil })
	switch {
	case repeat != nil:
		c.report("the effect ran again for a repeat of a committed call")
	case err != nil && out.Kept():
		c.report("a repeat of the committed call was answered with %v", err)
	case err == nil && difference(out.Result, replay.Result) != "":
		c.report("a repeat of the committed call was answered otherwise: %s", difference(out.Result, replay.Result))
	}
}
