package refrainhttp

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

// capture is the ResponseWriter of one run. It keeps the answer back until the
// transaction has committed. It has no Unwrap: nothing reaches the client's
// writer under a key except deadlines and full duplex.
type capture struct {
	outer  http.ResponseWriter
	input  rewound // the request body of this run
	marker string  // the guard's replay field, which a handler cannot set
	header http.Header
	status int // 0 until chosen
	length int64
	kept   [][2]string // the fields a record keeps
	once   [][2]string // the fields only the first answer shows
	body   spool
	digest bool // a body over the limit keeps its digest

	declared declaration
	effect   string // the effect reference
	verdict  verdict
	fault    *answerFault
	ended    bool
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
	*c = capture{
		outer: x.w, marker: x.ReplayedHeader, header: make(http.Header), length: -1,
		body: spool{limit: responseLimit(x.contract)}, digest: x.contract.KeepDigest || x.contract.Observe,
	}
}

// spoil notes the first fault; the run will be rolled back.
func (c *capture) spoil(problem record.Problem, format string, args ...any) error {
	if c.fault == nil {
		c.verdict = unfit
		c.fault = &answerFault{problem, fmt.Sprintf(format, args...)}
	}
	return c.fault
}

func (c *capture) Header() http.Header { return c.header }

// WriteHeader chooses the status; the first one wins. 1xx answers are dropped:
// the first answer leaves only after COMMIT. 101 leaves HTTP and cannot be
// recorded. As in net/http, an impossible status is a panic.
func (c *capture) WriteHeader(status int) {
	switch {
	case status < 100 || status > 999:
		panic(fmt.Sprintf("refrainhttp: invalid WriteHeader code %d", status))
	case c.status != 0 || c.ended:
		return
	case status == http.StatusSwitchingProtocols:
		_ = c.spoil(record.NotRecordable, "A protocol upgrade cannot be recorded.")
	case status < 200:
		return
	}
	c.status = status
	if media, _, _ := strings.Cut(c.header.Get("Content-Type"), ";"); strings.EqualFold(strings.TrimSpace(media), "text/event-stream") {
		_ = c.spoil(record.NotRecordable, "An event stream cannot be recorded.")
	}
	if declared := c.header.Get("Content-Length"); declared != "" {
		if n, err := strconv.ParseInt(declared, 10, 64); err == nil && n >= 0 {
			c.length = n
		}
	}
	if c.effect == "" {
		c.effect = c.header.Get("Location")
	}
	c.kept, c.once = sortFields(c.header, c.marker)
}

func (c *capture) Write(p []byte) (int, error) {
	if err := c.admit(len(p)); err != nil {
		return 0, err
	}
	return c.body.Write(p)
}

// admit says whether n more bytes of body are part of the answer.
func (c *capture) admit(n int) error {
	if c.status == 0 {
		c.WriteHeader(http.StatusOK)
	}
	switch {
	case c.ended:
		return errors.New("refrainhttp: write after the handler returned")
	case c.fault != nil:
		return c.fault
	case !bodyAllowed(c.status):
		return http.ErrBodyNotAllowed
	case c.length >= 0 && c.body.size+int64(n) > c.length:
		return http.ErrContentLength
	case !c.digest && c.body.size+int64(n) > c.body.limit:
		c.body.close()
		return c.spoil(record.ResponseTooLarge, "The answer is over %d bytes: raise Contract.MaxResponse or set KeepDigest.", c.body.limit)
	}
	return nil
}

// bodyAllowed reports whether answers of this status have a body (RFC 9110 §6.4.1).
func bodyAllowed(status int) bool {
	return status >= 200 && status != http.StatusNoContent && status != http.StatusNotModified
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
	case c.length >= 0 && c.body.size != c.length && bodyAllowed(c.status):
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

// sniff makes net/http's guess at the media type part of the record: a later
// version may guess otherwise.
func (c *capture) sniff() {
	if c.body.size == 0 || c.header["Content-Encoding"] != nil {
		return
	}
	if _, chosen := c.header["Content-Type"]; !chosen {
		c.kept = append(c.kept, [2]string{"Content-Type", http.DetectContentType(c.body.head())})
	}
}

// send is the first answer, after COMMIT or where nothing was recorded.
func (c *capture) send(w http.ResponseWriter, behind receipt) {
	var room [24][2]string // enough for nearly all answers without an allocation
	fields := append(append(room[:0], c.kept...), c.once...)
	begin(w, c.status, c.body.size, behind.addTo(fields))
	if bodyAllowed(c.status) {
		_ = c.body.writeTo(w) // the client may be gone; what happened is recorded
	}
}

func (c *capture) close() { c.body.close() }
