package refrainhttp

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

// capture is the ResponseWriter of one run under Handle. It keeps the answer
// back until the transaction has committed. It has no Unwrap: nothing reaches
// the client's writer under a key except deadlines and full duplex.
type capture struct {
	draft
	outer   http.ResponseWriter
	input   rewound // the request body of this run
	digest  bool    // a body over the limit keeps its digest
	verdict verdict
	fault   *answerFault
}

// verdict is why a run's answer is not recorded; zero while it may be.
type verdict int

const (
	failed     verdict = iota + 1 // the handler returned an error
	undeclared                    // no declaration for a status that needs one
	unfit                         // an answer that cannot be recorded at all
)

// answerFault says what is wrong with an answer, in words for the developer
// who meets it. It holds no payload.
type answerFault struct {
	problem record.Problem
	text    string
}

func (f *answerFault) Error() string { return "refrainhttp: " + f.text }

func (c *capture) open(x *exchange) {
	*c = capture{draft: newDraft(x), outer: x.w, digest: x.contract.KeepDigest || x.contract.Observe}
}

// spoil notes the first fault; the run will be rolled back.
func (c *capture) spoil(problem record.Problem, format string, args ...any) error {
	if c.fault == nil {
		c.verdict = unfit
		c.fault = &answerFault{problem, fmt.Sprintf(format, args...)}
	}
	return c.fault
}

// WriteHeader chooses the status; the first one wins. 1xx answers are dropped:
// the first answer leaves only after COMMIT. 101 leaves HTTP and cannot be
// recorded.
func (c *capture) WriteHeader(status int) {
	switch {
	case c.settled(status):
		return
	case status == http.StatusSwitchingProtocols:
		_ = c.spoil(record.NotRecordable, "A protocol upgrade cannot be recorded.")
	case status < 200:
		return
	}
	c.choose(status)
	if c.eventStream() {
		_ = c.spoil(record.NotRecordable, "An event stream cannot be recorded.")
	}
}

func (c *capture) Write(p []byte) (int, error) {
	if err := c.admit(len(p)); err != nil {
		return 0, err
	}
	return c.body.Write(p)
}

func (c *capture) admit(n int) error {
	if c.status == 0 {
		c.WriteHeader(http.StatusOK)
	}
	if c.fault != nil && !c.ended {
		return c.fault
	}
	if err := c.draft.admit(n); err != nil {
		return err
	}
	if !c.digest && c.body.size+int64(n) > c.body.limit {
		c.body.close()
		return c.spoil(record.ResponseTooLarge, "The answer is over %d bytes: raise Contract.MaxResponse or set KeepDigest.", c.body.limit)
	}
	return nil
}

// FlushError refuses: nothing leaves before COMMIT.
func (c *capture) FlushError() error { return http.ErrNotSupported }

// Hijack refuses and spoils the run: what a handler does after it is no answer.
func (c *capture) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	_ = c.spoil(record.NotRecordable, "A hijacked connection cannot be recorded.")
	return nil, nil, http.ErrNotSupported
}

func (c *capture) SetReadDeadline(t time.Time) error {
	return http.NewResponseController(c.outer).SetReadDeadline(t)
}

func (c *capture) SetWriteDeadline(t time.Time) error {
	return http.NewResponseController(c.outer).SetWriteDeadline(t)
}

func (c *capture) EnableFullDuplex() error {
	return http.NewResponseController(c.outer).EnableFullDuplex()
}

// settle turns the run into what the engine stores, or into the error that
// rolls it back.
func (c *capture) settle(err error) (refrain.Result, error) {
	if err != nil {
		var rejection *refrain.Rejection
		if errors.As(err, &rejection) {
			err = nil
			c.reject(rejection)
		}
	}
	if c.status == 0 && err == nil {
		c.WriteHeader(http.StatusOK)
	}
	c.ended = true
	c.sniff()
	switch {
	case c.fault != nil:
		return refrain.Result{}, errors.Join(c.fault, err)
	case err != nil:
		c.verdict = failed
		return refrain.Result{}, err
	case c.incomplete():
		c.verdict, c.status = failed, 0
		return refrain.Result{}, fmt.Errorf("refrainhttp: the handler declared %d bytes and wrote %d", c.length, c.body.size)
	case !c.recordable():
		c.verdict = undeclared
		c.fault = &answerFault{record.AnswerUndeclared, fmt.Sprintf("The handler answered %d after it had written data, and all of it was rolled back. "+
			"Declare such an answer before WriteHeader: refrainhttp.Record(w) keeps the writes, refrainhttp.Refuse(w) undoes them; both record the answer.", c.status)}
		return refrain.Result{}, c.fault
	}
	result := refrain.Result{
		Status: c.status, Header: c.kept, Body: c.body.mem, Effect: c.effect, Rejected: c.declared == refused,
	}
	if c.body.inFile() {
		result.Digest = c.body.digest()
	}
	return result, nil
}
