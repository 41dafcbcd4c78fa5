package external

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// rawServer plays a provider byte by byte. serve gets each connection after its
// handshake and closes it on return.
type rawServer struct {
	URL    string
	client *tls.Config
	begun  atomic.Int32 // requests whose first byte arrived
	ended  chan struct{}
}

func newRawServer(t *testing.T, secure bool, serve func(s *rawServer, conn net.Conn)) *rawServer {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &rawServer{URL: "http://" + listener.Addr().String() + "/charges", ended: make(chan struct{}, 16)}
	if secure {
		lender := httptest.NewTLSServer(nil) // for its certificate
		lender.Close()
		s.URL = "https" + strings.TrimPrefix(s.URL, "http")
		s.client = lender.Client().Transport.(*http.Transport).TLSClientConfig
		listener = tls.NewListener(listener, &tls.Config{Certificates: lender.TLS.Certificates})
	}
	var conns sync.WaitGroup
	conns.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			conns.Go(func() {
				defer func() { s.ended <- struct{}{} }()
				defer conn.Close()
				serve(s, conn)
			})
		}
	})
	t.Cleanup(func() { listener.Close(); conns.Wait() })
	return s
}

// request reads one request and counts its first byte.
func (s *rawServer) request(r *bufio.Reader) error {
	if _, err := r.Peek(1); err != nil {
		return err
	}
	s.begun.Add(1)
	request, err := http.ReadRequest(r)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, request.Body)
	return err
}

const rawConfirmed = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 13\r\n\r\n{\"id\":\"ch_1\"}"

// rawHTTP is a client of s. wrap, if any, gets each connection before TLS.
func rawHTTP(t *testing.T, s *rawServer, keepAlive bool, body string, wrap func(net.Conn) net.Conn) (*HTTP, *atomic.Int32) {
	dials := new(atomic.Int32)
	h := &HTTP{
		Profile:   StripeV1(),
		KeepAlive: keepAlive,
		TLS:       s.client,
		Build: func(ctx context.Context, _ Submission) (*http.Request, error) {
			if body == "" {
				return http.NewRequestWithContext(ctx, "", s.URL, nil)
			}
			return http.NewRequestWithContext(ctx, "", s.URL, strings.NewReader(body))
		},
		Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			dials.Add(1)
			conn, err := new(net.Dialer).DialContext(ctx, network, addr)
			if err == nil && wrap != nil {
				conn = wrap(conn)
			}
			return conn, err
		},
	}
	t.Cleanup(h.Close)
	return h, dials
}
