package external

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptrace"
	"time"
)

const (
	connectWithin  = 10 * time.Second // for a connection with its handshake
	maxAnswerHead  = 256 << 10        // bytes of an answer's header
	maxIdlePerHost = 16
)

// newTransport speaks HTTP/1.1 over gated connections. HTTP/2 is left out on
// purpose: there one write may carry several requests, so that no gate can stand
// before one of them, and the client sends some of them again by itself.
func (h *HTTP) newTransport() *http.Transport {
	t := &http.Transport{
		DialContext:            h.dialPlain,
		DialTLSContext:         h.dialTLS,
		Protocols:              new(http.Protocols),
		DisableKeepAlives:      !h.KeepAlive,
		DisableCompression:     true,
		MaxIdleConnsPerHost:    maxIdlePerHost,
		IdleConnTimeout:        30 * time.Second,
		MaxResponseHeaderBytes: maxAnswerHead,
	}
	t.Protocols.SetHTTP1(true)
	return t
}

func (h *HTTP) dialPlain(ctx context.Context, network, addr string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, connectWithin)
	defer cancel()
	conn, err := h.dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &gatedConn{Conn: conn}, nil
}

func (h *HTTP) dialTLS(ctx context.Context, network, addr string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, connectWithin)
	defer cancel()
	conn, err := h.dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	config := h.TLS.Clone()
	if config == nil {
		config = new(tls.Config)
	}
	config.NextProtos = []string{"http/1.1"}
	if config.ServerName == "" {
		if config.ServerName, _, err = net.SplitHostPort(addr); err != nil {
			_ = conn.Close()
			return nil, err
		}
	}
	secure := tls.Client(conn, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return &gatedConn{Conn: secure}, nil
}

func (h *HTTP) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if h.Dial != nil {
		return h.Dial(ctx, network, addr)
	}
	return new(net.Dialer).DialContext(ctx, network, addr)
}

// through sends r through p alone: whichever connection the transport picks, and
// however often it picks one, the passage is asked first.
func through(p *passage, r *http.Request) *http.Request {
	return r.WithContext(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) {
			if conn, ok := info.Conn.(*gatedConn); ok {
				conn.carry(p)
			}
		},
	}))
}
