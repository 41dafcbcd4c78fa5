package wire

import (
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Direction of bytes.
type Direction int

const (
	Up   Direction = iota // from the client to the server
	Down                  // from the server to the client
)

// Proxy forwards connections to one address. All faults concern connections
// that exist and those that come.
type Proxy struct {
	listener net.Listener
	upstream string
	match    func() Matcher // a new one per connection; nil knows no protocol

	passed [2]atomic.Int64
	delay  atomic.Int64 // nanoseconds before each piece goes on

	mu      sync.Mutex
	changed sync.Cond // of everything below
	links   map[*link]bool
	paused  bool
	silent  bool
	refuses bool
	closed  bool
	cuts    [2]*cut
	holding *Held // the next one to be held

	all sync.WaitGroup
}

// New starts a proxy before upstream; it ends with the test. match, which may be
// nil, makes what recognises a COMMIT on one connection.
func New(t testing.TB, upstream string, match func() Matcher) *Proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{listener: listener, upstream: upstream, match: match, links: make(map[*link]bool)}
	p.changed.L = &p.mu
	p.all.Go(p.accept)
	t.Cleanup(p.close)
	return p
}

// Addr is where the proxy listens.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Passed is how many bytes went on so far.
func (p *Proxy) Passed(d Direction) int64 { return p.passed[d].Load() }

// Pause keeps all bytes of both directions until Resume. Connections are still
// accepted.
func (p *Proxy) Pause()  { p.set(func() { p.paused = true }) }
func (p *Proxy) Resume() { p.set(func() { p.paused = false }) }

// Blackhole takes all bytes from now on and lets none arrive; the connections
// stay.
func (p *Proxy) Blackhole(on bool) { p.set(func() { p.silent = on }) }

// Refuse ends new connections as soon as they are made.
func (p *Proxy) Refuse(on bool) { p.set(func() { p.refuses = on }) }

// Delay keeps each piece back for some time.
func (p *Proxy) Delay(d time.Duration) { p.delay.Store(int64(d)) }

// Sever cuts all connections there are.
func (p *Proxy) Sever(how How) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.cut(how)
	}
}

func (p *Proxy) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
	p.changed.Broadcast()
}

func (p *Proxy) close() {
	_ = p.listener.Close()
	p.set(func() {
		p.closed = true
		for l := range p.links {
			l.cut(Reset)
		}
	})
	p.all.Wait()
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return // closed
		}
		p.all.Go(func() { p.serve(client.(*net.TCPConn)) })
	}
}

func (p *Proxy) serve(client *net.TCPConn) {
	p.mu.Lock()
	refused := p.refuses || p.closed
	p.mu.Unlock()
	if refused {
		end(client, Reset)
		return
	}
	server, err := net.Dial("tcp", p.upstream)
	if err != nil {
		end(client, Reset)
		return
	}
	l := &link{proxy: p, client: client, server: server.(*net.TCPConn)}
	if p.match != nil {
		l.match = p.match()
	}
	p.mu.Lock()
	if p.closed {
		l.cut(Reset)
	}
	p.links[l] = true
	p.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { l.forward(Up, l.client, l.server) })
	both.Go(func() { l.forward(Down, l.server, l.client) })
	both.Wait()
	l.cut(Close)
	p.set(func() { delete(p.links, l) })
}
