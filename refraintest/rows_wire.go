package refraintest

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// raw sends the sample over a connection of its own, announcing extra bytes
// that never come, and hands the connection over.
func (e *endpoint) raw(q ask, extra int) (*net.TCPConn, error) {
	r, err := e.request(q)
	if err != nil {
		return nil, err
	}
	conn, err := net.Dial("tcp", e.addr)
	if err != nil {
		return nil, err
	}
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	var text bytes.Buffer
	fmt.Fprintf(&text, "%s %s HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n", r.Method, r.URL.RequestURI(), e.addr, len(q.body)+extra)
	_ = r.Header.Write(&text) // to memory
	text.WriteString("\r\n" + q.body)
	if _, err := conn.Write(text.Bytes()); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn.(*net.TCPConn), nil
}

// cutShort: half a request is none, and does not take the key.
func (e *endpoint) cutShort() {
	q := e.sample(e.key())
	conn, err := e.raw(q, 10)
	if err != nil {
		e.errorf("%v", err)
		return
	}
	_ = conn.CloseWrite()
	_, _ = io.Copy(io.Discard, conn) // until the server has given up
	_ = conn.Close()
	e.wantEffects(0)
	if first, ok := e.fresh("the whole request after half of it", q); ok {
		e.wantReplay(e.send(q), first)
		e.wantEffects(1)
	}
}

// leaves: whether or not the request was taken up before its client went, its
// repeat ends in one effect and the answer.
func (e *endpoint) leaves() {
	const tries = 30
	q := e.sample(e.key())
	conn, err := e.raw(q, 0)
	if err != nil {
		e.errorf("%v", err)
		return
	}
	_ = conn.Close()
	var a answer
	for try := range tries {
		if a = e.send(q); a.problem() != "in-progress" && a.status != http.StatusServiceUnavailable {
			break
		}
		<-time.After(time.Duration(try) * 10 * time.Millisecond)
	}
	if a.err != nil || a.problem() != "" {
		e.errorf("the repeat after a client that left was answered %v", a)
		return
	}
	e.wantReplay(e.send(q), a)
	e.wantEffects(1)
}
