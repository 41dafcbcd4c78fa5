package refraintest

import (
	"context"
	"errors"
	"fmt"
	"runtime/pprof"
	"strings"
	"sync"

	"github.com/refrain-dev/refrain"
)

// plan says how a run is disturbed: at its step-th statement, counted from 1,
// which fails or finds its context ended. The zero value disturbs nothing.
type plan struct {
	step   int
	cancel bool
}

// run is one run of the effect and what was seen of it.
type run struct {
	plan     plan
	findings *findings
	ctx      context.Context // the effect's
	cancel   context.CancelFunc
	ref      string

	result   refrain.Result
	err      error
	panicked any

	mu        sync.Mutex
	steps     []string
	open      map[*watchedRows]string
	hit       bool // the planned step was reached
	cancelled bool
	over      bool
}

type runKey struct{}

var errOver = errors.New("refraintest: the effect has returned, its transaction is over")

func newRun(ctx context.Context, p plan, f *findings) *run {
	r := &run{plan: p, findings: f, open: make(map[*watchedRows]string)}
	running, _ := refrain.CallFrom(ctx)
	r.ref = running.Ref
	r.ctx, r.cancel = context.WithCancel(context.WithValue(ctx, runKey{}, r))
	return r
}

// perform runs the effect to its end and takes its goroutines' label back.
func (r *run) perform(label string, effect func(context.Context) (refrain.Result, error)) {
	defer r.end()
	pprof.Do(r.ctx, pprof.Labels(labelKey, label), func(ctx context.Context) {
		defer func() {
			if r.panicked = recover(); r.panicked != nil {
				r.err = fmt.Errorf("refraintest: the effect panicked: %v", r.panicked)
			}
		}()
		r.result, r.err = effect(ctx)
	})
}

// end closes what the effect left open.
func (r *run) end() {
	r.mu.Lock()
	r.over = true
	left := r.open
	r.open = nil
	cancelled := r.cancelled
	r.mu.Unlock()
	for rows, query := range left {
		if !cancelled { // else database/sql is closing them at this moment
			r.findings.report("the rows of %q were left open.\n\tdefer rows.Close() right after the query's error is checked.", query)
		}
		_ = rows.inner.Close()
	}
	r.cancel()
}

// before is asked ahead of every statement.
func (r *run) before(ctx context.Context, statement string) error {
	statement = shorten(statement)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		r.findings.report("the statement %q came after the effect had returned.\n"+
			"\tUse tx only inside the effect, and wait for goroutines that use it.", statement)
		return errOver
	}
	r.steps = append(r.steps, statement)
	r.inspect(ctx, statement)
	if len(r.steps) == r.plan.step {
		r.hit = true
		if !r.plan.cancel {
			return ErrInjected
		}
		r.cancelled = true
		r.cancel()
	}
	if r.cancelled {
		return context.Canceled
	}
	return nil
}

// inspect finds contexts that are not the effect's.
func (r *run) inspect(ctx context.Context, statement string) {
	if ctx == nil {
		return
	}
	switch ctx.Value(runKey{}) {
	case r:
		if ctx.Done() == nil {
			r.findings.report("the statement %q ran on a context detached from the effect's, which nothing ends.\n"+
				"\tPass the effect's ctx on.", statement)
		}
	case nil:
		r.findings.report("the statement %q ran on a context that is not the effect's: it goes on when the effect must end.\n"+
			"\tPass the effect's ctx on; in a handler it is r.Context().", statement)
	default:
		r.findings.report("the statement %q ran on the context of an earlier run.\n\tKeep no ctx outside the effect.", statement)
	}
}

// opened and closed keep the list of rows being read.
func (r *run) opened(rows *watchedRows, query string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open != nil {
		r.open[rows] = shorten(query)
	}
}

func (r *run) closed(rows *watchedRows) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.open, rows)
}

// shorten puts a statement on one line of at most 72 characters.
func shorten(statement string) string {
	const most = 72
	text := []rune(strings.Join(strings.Fields(statement), " "))
	if len(text) <= most {
		return string(text)
	}
	return string(text[:most-1]) + "…"
}
