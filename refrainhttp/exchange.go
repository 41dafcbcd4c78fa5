package refrainhttp

import (
	"context"
	"maps"
	"net/http"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/fingerprint"
	"github.com/refrain-dev/refrain/record"
)

// exchange is one guarded request and its answer.
type exchange struct {
	*route
	w     http.ResponseWriter
	r     *http.Request
	scope refrain.Scope

	key   string
	body  body
	print fingerprint.Print

	leave   func() bool // ends the client's hold on the call; see call
	held    bool        // the effect has begun: the client may go
	waits   bool        // counted among the waiters of the scope
	capture *capture    // the answer of the newest run under Handle, nil before
	first   capture     // of the first run, which is nearly always the only one
	attempt *attempt    // the run under Wrap, nil before
	made    bool        // the key was made for this request
	asked   string      // the key of the newest call

	settling bool // the action is accepted and its record is the answer
	bare     bool // the answer shows no receipt: no key, or only observed
}

// prepare is rows 11 and 13. Under Observe it goes on after a fault, since the
// handler will run all the same.
func (x *exchange) prepare() (fault *record.Error) {
	for _, check := range [...]func() *record.Error{x.readKey, x.readBody, x.fingerprint} {
		e := check()
		if fault == nil {
			fault = e
		}
		if fault != nil && !x.contract.Observe || x.passes(fault) {
			break
		}
	}
	return fault
}

// passes reports a request that runs without a record and as it came.
func (x *exchange) passes(fault *record.Error) bool {
	return x.key == "" && fault == nil && x.pass != nil
}

func (x *exchange) readKey() (fault *record.Error) {
	x.key, fault = x.Guard.key(x.r, x.contract.KeyOptional)
	return fault
}

// call runs one claim through the executor. Until the effect begins, the call
// ends with its client: who waits for somebody else's claim leaves the queue.
// From then on nothing but MaxExecution ends it.
func (x *exchange) call(key string) (refrain.Outcome, error) {
	ctx := x.r.Context()
	x.leave, x.held, x.asked = nil, false, key
	if ctx.Done() != nil {
		detached, cancel := context.WithCancel(context.WithoutCancel(ctx))
		defer cancel()
		x.leave = context.AfterFunc(ctx, cancel)
		defer x.leave()
		ctx = detached
	}
	call := refrain.Call{Contract: x.contract, Scope: x.scope, Key: key, Fresh: x.made, Print: &x.print, Recompute: x.recompute,
		Wait: preferredWait(x.r.Header)}
	if x.Actor != nil {
		call.Actor = x.Actor(x.r)
	}
	if x.waits = !x.settling && x.waiters.enter(x.scope); !x.waits {
		call.Wait = -1
	}
	defer x.stopWaiting()
	return x.execute(ctx, call, x)
}

// stopWaiting takes the request out of the waiters: it is answered, or its turn
// has come.
func (x *exchange) stopWaiting() {
	if x.waits {
		x.waits = false
		x.waiters.leave(x.scope)
	}
}

// hold ends the client's hold on the call: from here on it runs to its end. It
// fails where the client left before.
func (x *exchange) hold() error {
	x.stopWaiting()
	if x.leave != nil && !x.leave() && !x.held {
		return context.Canceled
	}
	x.held = true
	return nil
}

// begin starts one run of the handler: a fresh capture and a rewound request
// on the effect's context. It fails where the client left before the effect
// began.
func (x *exchange) begin(ctx context.Context) (*capture, *http.Request, error) {
	if x.settling {
		return nil, nil, errAnswering
	}
	if err := x.hold(); err != nil {
		return nil, nil, err
	}
	if x.capture == nil {
		x.capture = &x.first
	} else {
		x.capture.close()
		x.capture = new(capture)
	}
	x.capture.open(x)
	return x.capture, x.rewound(ctx, &x.capture.input), nil
}

// rewound is the request as it came, its body read through input.
func (x *exchange) rewound(ctx context.Context, input *rewound) *http.Request {
	r := x.r.WithContext(ctx)
	r.Header = maps.Clone(x.r.Header) // a second run must find what the first one found
	r.Body, r.ContentLength, r.TransferEncoding = x.body.open(input), x.body.length(), nil
	return r
}

// alone runs the request as an action of its own: without a record where a
// handler commits for itself, else under a fresh key.
func (x *exchange) alone() {
	if x.pass == nil {
		x.answer(x.fresh())
		return
	}
	r := x.rewound(x.r.Context(), new(rewound))
	defer removeParts(r)
	x.pass.ServeHTTP(x.w, r)
}

// removeParts removes the files of a multipart form the handler parsed; the
// server does so only for its own request.
func removeParts(r *http.Request) {
	if r.MultipartForm != nil {
		_ = r.MultipartForm.RemoveAll()
	}
}

func responseLimit(c refrain.Contract) int64 {
	if c.MaxResponse == 0 {
		return refrain.DefaultMaxResponse
	}
	return max(c.MaxResponse, 0)
}

// receipt is what stands behind the answer.
func (x *exchange) receipt(out refrain.Outcome) receipt {
	if x.bare {
		return receipt{}
	}
	return receipt{out.Ref, out.ReplayUntil, out.RememberUntil}
}

// unprotected keeps the receipt's fields out of the answer.
func (x *exchange) unprotected() { x.bare = true }

func (x *exchange) close() {
	x.body.close()
	if x.capture != nil {
		x.capture.close()
	}
}

// answer is the one place where what happened becomes a response; a run of a
// handler that commits for itself does so in its own way.
func (x *exchange) answer(out refrain.Outcome, err error) {
	switch {
	case x.attempt != nil:
		x.attempt.answer(x, err)
	case err != nil:
		x.fail(refusal(err))
	case out.Replayed && !x.may(x.r, out):
		x.refuse(x.w, x.r, withheld(), time.Now())
	case !out.Replayed && !out.State.Final():
		x.accepted(out)
	case !out.Replayed:
		x.capture.send(x.w, x.receipt(out))
	case !out.State.Final():
		x.current(out)
	default:
		x.replay(out)
	}
}

// fail answers a call that left no record. The handler's own answer goes out
// where it proves nothing about an effect.
func (x *exchange) fail(e *record.Error) {
	shows := e.Problem == record.ResultGone || e.Problem == record.OutcomeDisputed
	if shows && e.Record != nil && !x.may(x.r, outcomeOf(e.Record)) {
		e = withheld()
		x.tell(x.r, e, time.Now())
	}
	c := x.capture
	if e.Problem != record.HandlerFailed || c == nil {
		x.problem(x.w, x.r, e)
		return
	}
	switch c.verdict {
	case unfit:
		e = &record.Error{Problem: c.fault.problem, Row: "15", Err: c.fault}
	case undeclared:
		if !e.Wrote || x.contract.SendUndeclared {
			c.send(x.w, receipt{})
			return
		}
		e = &record.Error{Problem: record.AnswerUndeclared, Row: "15", Err: c.fault}
	case failed:
		if c.status >= 400 {
			c.send(x.w, receipt{})
			return
		}
	}
	if e.Row == "15" {
		x.tell(x.r, e, time.Now())
	}
	if e.Problem == record.AnswerUndeclared && c.verdict == undeclared && x.contract.Observe {
		x.mark("would-refuse " + string(e.Problem))
		c.send(x.w, receipt{})
		return
	}
	x.problem(x.w, x.r, e)
}
