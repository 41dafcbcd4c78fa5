package wire

// cut is a fault that waits for its byte.
type cut struct {
	after int64
	how   How
	done  chan struct{}
}

// Cut ends the connection that carries the n-th byte of the direction from now
// on, over all connections, right behind it; with n = 0 before the next byte. It
// replaces a cut of the direction that has not happened. done is closed when it
// has.
func (p *Proxy) Cut(d Direction, n int64, how How) (done <-chan struct{}) {
	c := &cut{n, how, make(chan struct{})}
	p.set(func() { p.cuts[d] = c })
	return c.done
}

// Spare takes back cuts that have not happened.
func (p *Proxy) Spare() { p.set(func() { p.cuts = [2]*cut{} }) }

// Held is a connection whose COMMIT is at the server and whose answers are kept.
type Held struct {
	// Reached is closed when the COMMIT is on its way to the server.
	Reached <-chan struct{}

	reached chan struct{}
	proxy   *Proxy
	link    *link
}

// Hold keeps the server's answers from the next COMMIT on, of whichever
// connection sends it.
func (p *Proxy) Hold() *Held {
	reached := make(chan struct{})
	h := &Held{Reached: reached, reached: reached, proxy: p}
	p.set(func() { p.holding = h })
	return h
}

func (h *Held) reach(l *link) {
	h.link = l
	close(h.reached)
}

// Release lets the answers go on. The COMMIT must have been reached.
func (h *Held) Release() { h.proxy.set(func() { h.link.held = false }) }

// Cut ends the connection; the client never learns what the COMMIT did.
func (h *Held) Cut(how How) { h.proxy.set(func() { h.link.cut(how) }) }
