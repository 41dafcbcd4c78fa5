package refrainhttp

import (
	"bufio"
	"hash"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/refrain-dev/refrain"
)

// stream is the ResponseWriter of one run under Wrap. It keeps the answer back
// up to the contract's MaxResponse; what cannot be kept back passes through. A
// client that leaves does not disturb the handler: the rest is digested and
// dropped, so the outcome is known. It has no Unwrap.
type stream struct {
	draft
	x *exchange

	mu       sync.Mutex // held by each call; the guard takes the client away under it
	gone     bool       // nothing reaches the client any more
	hijacked bool
	informed bool      // a 1xx answer was chosen
	silent   bool      // and nothing after it
	sum      hash.Hash // of what has passed

	passing atomic.Bool // the head of the answer is out
	revoked atomic.Bool // the guard is about to answer in the handler's place
}

// fix chooses the status, and lets pass what has no end a record could wait for.
func (s *stream) fix(status int) {
	s.choose(status)
	if s.eventStream() || status == http.StatusSwitchingProtocols {
		s.passOn()
	}
}

// WriteHeader chooses the status; the first one wins. Other 1xx answers than
// 101 go out at once.
func (s *stream) WriteHeader(status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.settled(status) || s.hijacked:
	case status < 200 && status != http.StatusSwitchingProtocols:
		s.inform(status)
	default:
		s.fix(status)
	}
}

func (s *stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hijacked {
		return 0, http.ErrHijacked
	}
	if s.status == 0 && !s.ended {
		s.fix(http.StatusOK)
	}
	if err := s.admit(len(p)); err != nil {
		return 0, err
	}
	if !s.passing.Load() {
		if s.body.size+int64(len(p)) <= s.body.limit {
			return s.body.Write(p)
		}
		s.passOn()
	}
	s.forward(p)
	s.body.size += int64(len(p))
	return len(p), nil
}

// Flush lets the answer pass, as [stream.FlushError].
func (s *stream) Flush() { _ = s.FlushError() }

// FlushError lets the answer pass from here on.
func (s *stream) FlushError() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hijacked || s.ended {
		return http.ErrNotSupported
	}
	if s.status == 0 {
		s.fix(http.StatusOK)
	}
	s.passOn()
	if !s.reachable() {
		return nil
	}
	return http.NewResponseController(s.x.w).Flush()
}

// Hijack gives the connection away; how the action ends is then not known.
func (s *stream) Hijack() (conn net.Conn, rw *bufio.ReadWriter, err error) {
	err = s.control(func(c *http.ResponseController) (err error) {
		conn, rw, err = c.Hijack()
		s.hijacked = err == nil
		return err
	})
	return conn, rw, err
}

func (s *stream) SetReadDeadline(t time.Time) error {
	return s.control(func(c *http.ResponseController) error { return c.SetReadDeadline(t) })
}

func (s *stream) SetWriteDeadline(t time.Time) error {
	return s.control(func(c *http.ResponseController) error { return c.SetWriteDeadline(t) })
}

func (s *stream) EnableFullDuplex() error {
	return s.control((*http.ResponseController).EnableFullDuplex)
}

func (s *stream) control(do func(*http.ResponseController) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.reachable() {
		return http.ErrNotSupported
	}
	return do(http.NewResponseController(s.x.w))
}

// declare takes declarations before the status is chosen; later ones change
// nothing, since there is nothing to roll back.
func (s *stream) declare(_ string, set func(*draft)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.status == 0 && !s.ended {
		set(&s.draft)
	}
}

// end closes the answer when the handler has returned.
func (s *stream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.status == 0 && !s.hijacked {
		s.silent = s.informed
		s.choose(http.StatusOK)
	}
	s.ended = true
	if s.passing.Load() {
		s.trail()
		return
	}
	s.sniff()
}

// result is the answer as it is recorded.
func (s *stream) result() refrain.Result {
	result := refrain.Result{Status: s.status, Header: s.kept, Body: s.body.mem, Effect: s.effect}
	if s.passing.Load() {
		result.Digest = s.sum.Sum(nil)
	}
	return result
}

// revoke takes the client away from a handler that does not return. A write
// that is blocked on a slow client is ended.
func (s *stream) revoke() {
	s.revoked.Store(true)
	if s.passing.Load() { // set before the writer looks at revoked: one of us sees the other
		_ = http.NewResponseController(s.x.w).SetWriteDeadline(time.Now())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gone = true
}

func (s *stream) reachable() bool { return !s.gone && !s.revoked.Load() }

func newStream(x *exchange) stream { return stream{draft: newDraft(x), x: x} }
