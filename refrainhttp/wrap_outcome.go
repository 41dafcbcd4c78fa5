package refrainhttp

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

// outcome is what a run says about its action.
type outcome int

const (
	confirmed outcome = iota + 1
	rejected
	unknown
	free // it did not begin
)

// judge reads the outcome from how the handler ended and what it answered. What
// may be a part of an answer, or an answer to something else, proves nothing.
func (a *attempt) judge() outcome {
	s := &a.out
	switch {
	case a.ended == abruptly || s.hijacked:
		return unknown
	case s.declared == notStarted:
		return free
	case s.incomplete() || s.silent:
		return unknown
	case s.declared == recorded:
		return confirmed
	case s.declared == refused:
		return rejected
	case a.ended == late && s.status >= 400: // it may speak of its own context
		return unknown
	case a.frees():
		return free
	case inconclusive(s.status), s.header.Get(statusHeader) != "" && record.Problem(s.header.Get(statusHeader)).Retryable():
		return unknown // also where a guard behind this one has said that it does not know
	case s.status >= 400:
		return rejected
	}
	return confirmed
}

// inconclusive reports statuses that do not say what became of the action: the
// server failed, or a layer answered that may stand before or behind the effect.
func inconclusive(status int) bool {
	switch status {
	case http.StatusSwitchingProtocols, http.StatusUnauthorized, http.StatusProxyAuthRequired,
		http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	}
	return status >= 500
}

// frees reports an answer that says by itself that nothing happened.
func (a *attempt) frees() bool {
	return a.out.declared == notStarted || slices.Contains(a.contract.FreeOn, a.out.status)
}

// conclude writes the outcome, on no client's context.
func (a *attempt) conclude(ctx context.Context) {
	a.outcome = a.judge()
	result := a.out.result()
	result.Rejected = a.outcome == rejected
	err := a.change(ctx, a.rec.Identity, func(seen record.Seen, now time.Time) (edit record.Edit, err error) {
		switch a.outcome {
		case free:
			edit, err = a.rec.Release(seen, a.claim.Policy)
			a.settled = edit.Put // an earlier attempt may have begun
		case unknown:
			edit, err = a.rec.Lost(seen)
			a.settled = edit.Put
		default:
			edit, a.settled, err = a.rec.Complete(seen, now, result, a.claim.Policy)
		}
		return edit, err
	})
	if a.written = err == nil; !a.written {
		a.settled = nil
	}
	a.report(err)
}

// report tells the observer what its event of the call does not: an outcome that
// is not known, or not written.
func (a *attempt) report(err error) {
	e := &record.Error{Ref: a.rec.Ref, Err: err}
	switch {
	case err != nil && !errors.Is(err, record.ErrLeaseLost):
		e.Row, e.Problem = "9", record.StoreUnavailable
	case err != nil || a.outcome == unknown:
		e.Row, e.Problem = "7", record.OutcomeUnknown
	case a.settled != nil && a.settled.Disputed:
		e.Row, e.Problem = "7", record.OutcomeDisputed
	default:
		return
	}
	a.tell(a.x.r, e, time.Now())
}

var errFreed = errors.New("refrainhttp: the handler did not begin the action")

// conclusion is what the callers that wait for this run get to see.
func (a *attempt) conclusion() (*record.Record, bool, error) {
	switch {
	case a.freed():
		return nil, false, &record.Error{Problem: record.HandlerFailed, Err: errFreed}
	case a.settled != nil:
		return a.settled, true, nil
	}
	return a.rec, true, nil // held until its lease ends
}

// freed reports that the key is free again.
func (a *attempt) freed() bool { return a.outcome == free && a.written && a.settled == nil }

// receipt is what stands behind the handler's own answer: a final record only if
// it keeps this very answer.
func (a *attempt) receipt() receipt {
	switch {
	case a.freed():
		return receipt{}
	case a.settled != nil && a.settled.State.Final() && !a.settled.Disputed && a.settled.Attempt == a.rec.Attempt:
		return a.x.receipt(refrain.Outcome{Ref: a.rec.Ref, ReplayUntil: a.settled.ReplayUntil, RememberUntil: a.settled.RememberUntil})
	}
	return a.mark()
}
