package refrainhttp

import (
	"errors"
	"time"

	"github.com/refrain-dev/refrain/record"
)

// observedHeader says what the guard would have done. Only Observe sets it.
const observedHeader = "Idempotency-Observed"

// observe decides as always and lets the handler answer whatever was decided.
// The first request is recorded under its real key, so later ones find it; a
// request that would not have executed runs as an action of its own under a
// fresh key. Receipt fields stay out: nothing they promise would be kept.
//
// What cannot be let through: a caller who is not verified and, under Handle
// whose transaction is ours, a store that is down and an answer that can never
// be recorded.
func (x *exchange) observe(fault *record.Error) {
	x.unprotected()
	switch {
	case fault != nil:
		x.mark("would-refuse " + string(fault.Problem))
	case x.key == "":
		x.tell(x.r, &record.Error{Row: "11"}, time.Now())
	default:
		x.mark("would-execute")
		out, err := x.call(x.key)
		switch e := refusal(err); {
		case x.attempt != nil:
			x.answer(out, err)
			return
		case e == nil && !out.Replayed && x.capture.body.inFile() && !x.contract.KeepDigest:
			x.mark("would-refuse " + string(record.ResponseTooLarge))
			x.answer(out, err)
			return
		case e == nil && !out.Replayed, e != nil && !decided(e.Problem) && x.pass == nil:
			x.answer(out, err)
			return
		case e != nil:
			x.mark("would-refuse " + string(e.Problem))
		case !out.State.Final():
			x.mark("would-answer " + out.State.String())
		case !x.may(x.r, out):
			x.mark("would-refuse " + string(record.Forbidden))
		default:
			x.mark("would-replay")
		}
	}
	x.alone()
}

// decided reports whether p came from the decision table's look at a record,
// so that nothing of this request was executed.
func decided(p record.Problem) bool {
	switch p {
	case record.TooLate, record.KeyFromFuture, record.KeyReused, record.ResultGone, record.InProgress,
		record.OutcomeUnknown, record.OutcomeDisputed, record.KeyInvalid, record.RecordUnreadable:
		return true
	}
	return false
}

func (x *exchange) mark(what string) { x.w.Header().Set(observedHeader, what) }

// refusal is err as the decision table's error, nil for nil. An error that is
// none says that the call itself was wrong, before anything was looked up.
func refusal(err error) *record.Error {
	var e *record.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &e):
		return e
	case errors.Is(err, record.ErrNested):
		return &record.Error{Problem: record.HandlerFailed, Err: err}
	}
	// The contract was validated at start-up: what is left is the scope.
	return &record.Error{Problem: record.PrincipalUnproven, Row: "12", Err: err}
}
