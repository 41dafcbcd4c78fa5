package refrainhttp

import (
	"errors"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

// errAnswering ends a run that would begin although the request has committed its
// action already.
var errAnswering = errors.New("refrainhttp: the action of this request is accepted already")

// accepted answers the request whose handler has accepted an external operation:
// what the handler wrote is no answer. The action's record is asked as by a
// repeat, after Guard.Await, so the first answer and every repeat come from one
// source. While the record is not final the answer is 202, whatever the contract
// says of repeats: the action is accepted, and the client learns where to ask.
func (x *exchange) accepted(out refrain.Outcome) {
	x.settling = true
	if wait := x.patience(); x.Await != nil && wait > 0 {
		_ = x.Await(x.r.Context(), out.Ref, wait) // the record tells
	}
	now, err := x.call(x.asked)
	e := refusal(err)
	switch {
	case e == nil && now.State.Final():
		x.replay(now)
	case e == nil:
		x.current(now)
	case e.Problem == record.OutcomeDisputed || e.Problem == record.ResultGone || e.Problem == record.RecordUnreadable:
		x.problem(x.w, x.r, e)
	case e.Record != nil && e.Record.Ref == out.Ref && !e.Record.State.Final():
		x.current(outcomeOf(e.Record))
	default:
		x.current(out)
	}
}

// patience is how long the request waits for its operation: the contract's Wait,
// or less where the client prefers so.
func (x *exchange) patience() time.Duration {
	wait := x.contract.Policy().Wait
	if preferred := preferredWait(x.r.Header); preferred != 0 {
		return min(wait, max(preferred, 0))
	}
	return wait
}
