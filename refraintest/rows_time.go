package refraintest

import (
	"net/http"
	"time"

	"github.com/refrain-dev/refrain"
)

// pastReplay looks at both sides of the deadline.
func (e *endpoint) pastReplay() {
	if e.Clock == nil || e.Contract.ReplayFor == e.Contract.RememberFor {
		return
	}
	q := e.sample(e.key())
	first, ok := e.fresh("the first request", q)
	if !ok {
		return
	}
	e.Clock.Advance(e.Contract.ReplayFor - time.Millisecond)
	e.wantReplay(e.send(q), first)
	e.Clock.Advance(time.Millisecond)
	switch a := e.send(q); {
	case a.status == http.StatusSeeOther && a.problem() == "result-gone" && e.Contract.SeeOther:
	case a.replayed(e):
		e.errorf("the answer is still replayed after %v; is Clock.Now the engine's Options.Now?", e.Contract.ReplayFor)
	default:
		e.wantProblem(a, http.StatusGone, "result-gone", q)
	}
	e.wantEffects(1)
}

// pastMemoryUntimed: nothing tells such a request from a new one.
func (e *endpoint) pastMemoryUntimed() {
	if e.Clock == nil || e.Contract.KeyTime == refrain.KeyTimeRequired {
		return
	}
	q := e.sample(e.untimed())
	first, ok := e.fresh("the first request", q)
	if !ok {
		return
	}
	e.Clock.Advance(e.Contract.RememberFor)
	if again, ok := e.fresh("the request past its memory", q); ok && again.ref() == first.ref() {
		e.errorf("two actions have one ref, %s", first.ref())
	}
}

// pastMemoryTimed: the key tells by itself that it is too old.
func (e *endpoint) pastMemoryTimed() {
	key := e.key()
	if _, timed := e.Contract.KeyTime.Birth(key); e.Clock == nil || !timed {
		return
	}
	q := e.sample(key)
	if _, ok := e.fresh("the first request", q); !ok {
		return
	}
	e.Clock.Advance(e.Contract.RememberFor)
	e.wantProblem(e.send(q), http.StatusPreconditionFailed, "retry-too-late", q)
	e.wantEffects(1)
}
