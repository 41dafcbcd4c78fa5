package external

import (
	"errors"
	"net"
	"sync"
	"sync/atomic"
)

// Why a connection carries no byte of a submission, or takes no answer to it.
var (
	errSecond  = errors.New("external: this attempt has begun on another connection")
	errOver    = errors.New("external: this attempt is over")
	errNobody  = errors.New("external: the connection carries no attempt")
	errUnasked = errors.New("external: the provider spoke before it was asked")
)

// passage is the way out for one attempt: it opens one time, for one connection,
// if the gate lets it. It is asked in the connection's write, below everything
// that might send a request again or send it late.
type passage struct {
	gate func() error // nil lets everything pass

	mu     sync.Mutex
	begun  bool
	closed error
}

// begin is asked right before the first byte.
func (p *passage) begin() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.begun:
		return errSecond
	case p.closed != nil:
		return p.closed
	case p.gate != nil:
		p.closed = p.gate()
	}
	p.begun = p.closed == nil
	return p.closed
}

// end closes the passage for good. It reports whether the attempt had begun, and
// if not, what the gate had against it.
func (p *passage) end() (begun bool, refused error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	refused = p.closed
	if p.closed == nil {
		p.closed = errOver
	}
	return p.begun, refused
}

// gatedConn lets a request out through its attempt's passage alone. It lies above
// TLS: what it counts is the request, and a handshake is none.
type gatedConn struct {
	net.Conn

	mu      sync.Mutex
	passage *passage
	begun   atomic.Bool
}

// carry says whose request the connection carries next.
func (c *gatedConn) carry(p *passage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.passage = p
	c.begun.Store(false)
}

// Write asks the passage before the first byte and aborts if it is closed.
func (c *gatedConn) Write(b []byte) (int, error) {
	if err := c.begin(); err != nil {
		return 0, err
	}
	return c.Conn.Write(b)
}

func (c *gatedConn) begin() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.begun.Load() {
		return nil
	}
	if c.passage == nil {
		return errNobody
	}
	err := c.passage.begin()
	c.begun.Store(err == nil)
	return err
}

// Read takes nothing from a provider that was not asked: it is no answer to this
// attempt.
func (c *gatedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 && !c.begun.Load() {
		return 0, errUnasked
	}
	return n, err
}
