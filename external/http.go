package external

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/refrain-dev/refrain/operation"
)

// HTTP is a [Provider] behind an HTTP API. Only Build is needed; the zero Profile
// is that of [None], which promises nothing. Fields do not change after the first
// use, and an HTTP is not copied.
//
// One call of Submit writes the first byte of at most one request: the send gate
// is asked in the connection's write, after dialling and handshake, and the
// transport's own repeats end there, too, without a byte. Redirects are not
// followed, no proxy is taken from the environment (Dial can reach one), and
// HTTP/2 is off: its writes may carry several requests, so that no gate could
// stand before one of them.
type HTTP struct {
	Profile Profile

	// Build makes the request of a submission: address, credential and body, the
	// same body for every attempt. The method is POST, or [Profile.Method]; HTTP
	// adds the key. The text of an error becomes the attempt's note, so it must
	// tell nothing of the payload.
	Build func(ctx context.Context, s Submission) (*http.Request, error)

	// Ask makes the request that asks what became of s.Key, and Found reads the
	// answer. An error of Found means that the answer does not tell, as after any
	// status but the expected one; "not found" is only what the provider says about
	// the key itself, not a 404 of some router. Both or none; without them the
	// provider cannot be asked, whatever Profile.Terms says.
	Ask   func(ctx context.Context, s Submission) (*http.Request, error)
	Found func(a Answer) (operation.Finding, error)

	// Timeout of one attempt or question; 0 means 30 s. Time in which the process
	// does not run hardly counts.
	Timeout time.Duration
	// KeepAlive reuses connections. Off, each attempt has one of its own: dearer by
	// a handshake, but no attempt is lost to a connection that the provider was
	// just closing, and no stray answer to an earlier request can be taken for the
	// answer to this one.
	KeepAlive bool
	// TLS is the client's configuration; nil means the system's roots.
	TLS *tls.Config
	// Dial opens connections, as through a proxy; nil means a plain net.Dialer.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)

	once      sync.Once
	transport *http.Transport
}

var _ Querier = (*HTTP)(nil)

const defaultTimeout = 30 * time.Second

// Validate names what is missing or contradicts itself.
func (h *HTTP) Validate() error {
	switch {
	case h.Build == nil:
		return errors.New("external: HTTP: no Build")
	case (h.Ask == nil) != (h.Found == nil):
		return errors.New("external: HTTP: Ask and Found belong together")
	case h.Timeout < 0:
		return errors.New("external: HTTP: a negative Timeout")
	}
	return h.Profile.validate(h.Terms())
}

// Terms are the profile's; whether the provider can be asked is decided by Ask.
func (h *HTTP) Terms() operation.Terms {
	t := h.Profile.Terms
	t.Queries = h.Ask != nil
	if !t.Queries {
		t.NotFoundFinalAfter = 0
	}
	return t
}

// Submit makes one attempt; see [Provider]. NotSent is answered only when no byte
// of the request was handed to a connection: it could not be built, dialling or
// the handshake failed, the gate refused, or ctx ended before. What the answer
// means is for [Profile.Classify].
func (h *HTTP) Submit(ctx context.Context, s Submission) operation.Reply {
	r, err := h.submission(ctx, s)
	if err != nil {
		return operation.Reply{End: operation.NotSent, Note: "no request: " + err.Error()}
	}
	a, begun, err := h.exchange(ctx, r, s.Gate)
	switch {
	case !begun:
		return operation.Reply{End: operation.NotSent, Note: "nothing was sent: " + err.Error()}
	case err != nil:
		return operation.Reply{End: operation.Lost, Status: a.Status, Note: "no whole answer: " + unquoted(err).Error()}
	}
	return h.Profile.Classify(a, s.Repeats)
}

// Query asks the provider about s.Key; see [Querier].
func (h *HTTP) Query(ctx context.Context, s Submission) (operation.Finding, error) {
	if err := h.Validate(); err != nil {
		return operation.Finding{}, err
	}
	if h.Ask == nil {
		return operation.Finding{}, errors.New("external: HTTP: the provider cannot be asked")
	}
	r, err := h.Ask(ctx, s)
	if err != nil {
		return operation.Finding{}, fmt.Errorf("external: no question: %w", err)
	}
	a, _, err := h.exchange(ctx, r, nil)
	if err != nil {
		return operation.Finding{}, fmt.Errorf("external: no answer to the question: %w", unquoted(err))
	}
	return h.Found(a)
}

// exchange sends r and reads the answer. begun says whether a byte of r may have
// left; without it err says why not.
func (h *HTTP) exchange(ctx context.Context, r *http.Request, gate func() error) (a Answer, begun bool, err error) {
	h.once.Do(func() { h.transport = h.newTransport() })
	within := h.Timeout
	if within == 0 {
		within = defaultTimeout
	}
	ctx, cancel := patiently(ctx, within)
	defer cancel()
	p := &passage{gate: gate}
	response, err := h.transport.RoundTrip(through(p, r.WithContext(ctx)))
	begun, refused := p.end()
	if response != nil {
		defer response.Body.Close()
	}
	switch {
	case refused != nil:
		return Answer{}, false, refused
	case !begun && err == nil:
		return Answer{}, false, errUnasked
	case err != nil:
		return Answer{}, begun, err
	}
	a, err = readAnswer(response)
	return a, true, err
}

// Close closes the connections that nobody uses.
func (h *HTTP) Close() {
	h.once.Do(func() { h.transport = h.newTransport() })
	h.transport.CloseIdleConnections()
}
