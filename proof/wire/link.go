package wire

import (
	"net"
	"sync"
	"time"
)

// How a connection ends.
type How int

const (
	Reset How = iota // RST: bytes on their way are lost
	Close            // FIN
)

// link is one client's connection and the proxy's own to the server.
type link struct {
	proxy          *Proxy
	client, server *net.TCPConn
	match          Matcher
	once           sync.Once
	dead           bool // guarded by the proxy's mu
	held           bool // so is this: the server's answers are kept
}

// cut ends both connections. The caller holds the proxy's mu, or the link is
// nobody else's.
func (l *link) cut(how How) {
	l.once.Do(func() {
		l.dead = true
		end(l.client, how)
		end(l.server, how)
	})
	l.proxy.changed.Broadcast()
}

func end(conn *net.TCPConn, how How) {
	if how == Reset {
		_ = conn.SetLinger(0) // it is about to be closed
	}
	_ = conn.Close()
}

// forward carries one direction until either side ends.
func (l *link) forward(d Direction, from, to *net.TCPConn) {
	piece := make([]byte, 32<<10)
	for {
		n, err := from.Read(piece)
		if n > 0 && !l.pass(d, piece[:n], to) {
			return
		}
		if err != nil {
			_ = to.CloseWrite() // the other direction may still have bytes
			return
		}
	}
}

// pass sends one piece on, or the part of it before a fault; false if the
// connection is at its end.
func (l *link) pass(d Direction, piece []byte, to *net.TCPConn) bool {
	p := l.proxy
	if delay := time.Duration(p.delay.Load()); delay > 0 {
		time.Sleep(delay) // the fault itself
	}
	p.mu.Lock()
	for (p.paused || d == Down && l.held) && !l.dead {
		p.changed.Wait()
	}
	if l.dead {
		p.mu.Unlock()
		return false
	}
	if p.silent {
		p.mu.Unlock()
		return true
	}
	fault := p.cuts[d]
	if fault != nil && fault.after > int64(len(piece)) {
		fault.after -= int64(len(piece))
		fault = nil
	}
	if fault != nil {
		piece = piece[:fault.after]
		p.cuts[d] = nil
	}
	var reached *Held
	if d == Up && l.match != nil && l.match.Commits(piece) && p.holding != nil {
		l.held = true // before the server can answer
		reached, p.holding = p.holding, nil
	}
	p.mu.Unlock()

	_, err := to.Write(piece)
	p.passed[d].Add(int64(len(piece)))
	if reached != nil {
		reached.reach(l)
	}
	if fault == nil {
		return err == nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	l.cut(fault.how)
	close(fault.done)
	return false
}
