package mysql

import (
	"bytes"
	"io"
	"net"
	"regexp"
	"sync"
	"sync/atomic"
	"testing"

	driverlib "github.com/go-sql-driver/mysql"
)

// proxy stands between the engine and the server and cuts the connection at the
// next COMMIT of a record.
type proxy struct {
	cfg    *driverlib.Config
	mu     sync.Mutex
	before func()        // called at the COMMIT; nil: it passes
	pass   bool          // the COMMIT reaches the server, its answer nobody
	hold   chan struct{} // whoever sends a record gets no more answers until it is closed
	paused chan struct{} // nothing goes to the server until it is closed
	open   []net.Conn    // on either side
	copies sync.WaitGroup
}

// pause is a server that takes connections and does not answer.
func (p *proxy) pause(t testing.TB) (resume func()) {
	paused := make(chan struct{})
	p.mu.Lock()
	defer p.mu.Unlock()
	p.paused = paused
	resume = sync.OnceFunc(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.paused = nil
		close(paused)
	})
	t.Cleanup(resume)
	return resume
}

// sever resets every connection.
func (p *proxy) sever() {
	defer p.copies.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range p.open {
		_ = conn.(*net.TCPConn).SetLinger(0)
		_ = conn.Close()
	}
}

// wait returns when the server is not paused.
func (p *proxy) wait() {
	p.mu.Lock()
	paused := p.paused
	p.mu.Unlock()
	if paused != nil {
		<-paused
	}
}

func newProxy(t testing.TB, cfg *driverlib.Config) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{cfg: cfg.Clone()}
	p.cfg.Addr = listener.Addr().String()
	var all sync.WaitGroup
	all.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial(cfg.Net, cfg.Addr)
			if err != nil {
				_ = client.Close()
				continue
			}
			p.mu.Lock()
			p.open = append(p.open, server, client)
			p.mu.Unlock()
			back := &answers{Conn: client}
			p.copies.Go(func() { p.forward(back, server) })
			p.copies.Go(func() {
				p.wait()
				_, _ = io.Copy(back, server)
				_ = client.Close()
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		all.Wait()
		p.copies.Wait()
	})
	return p
}

// cut makes the next COMMIT lose its connection.
func (p *proxy) cut(pass bool, before func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pass, p.before = pass, before
}

// recording is how a record is sent: as a text, or to a block that is prepared.
var recording = regexp.MustCompile(`INSERT INTO refrain_record|EXECUTE refrain_\w+_record`)

func (p *proxy) forward(client *answers, server net.Conn) {
	defer server.Close()
	defer client.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := client.Read(buf)
		if err != nil {
			return
		}
		p.wait()
		p.mu.Lock()
		before, pass := p.before, p.pass
		records := recording.Match(buf[:n]) && !bytes.Contains(buf[:n], []byte("PREPARE "))
		at := before != nil && records
		if at {
			p.before = nil
		}
		if hold := p.hold; records && hold != nil {
			client.hold.Store(&hold)
		}
		p.mu.Unlock()
		if at && !pass {
			before()
			return
		}
		if at {
			_ = client.Close() // the answer has nowhere to go
			before()
		}
		if _, err := server.Write(buf[:n]); err != nil {
			return
		}
		if at { // the server reads what it has got before it sees the end
			_ = server.(*net.TCPConn).CloseWrite()
			_, _ = io.Copy(io.Discard, server)
			return
		}
	}
}

// answers is a client whose answers can be held back.
type answers struct {
	net.Conn
	hold atomic.Pointer[chan struct{}]
}

func (a *answers) Write(b []byte) (int, error) {
	if hold := a.hold.Load(); hold != nil {
		<-*hold
	}
	return a.Conn.Write(b)
}
